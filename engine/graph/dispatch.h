#pragma once

#include "engine/graph/step_params.h"

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace attn {

/// The properties that the choice of a kernel may depend on. They are measured; vendor names are none.
struct KernelTraits {
    uint32_t subgroupSize = 32;
    /// Whether register tiles of one 8-wide subgroup are faster than shared memory (software Vulkan).
    bool prefersSubgroupTiles = false;
    /// Whether ops run their host kernels, where they have one: the processor is the device and shares its memory.
    bool usesHost = false;
    uint64_t maxStorageBufferRange = 128u << 20;
    uint32_t maxStorageBuffers = 32; ///< that one dispatch may bind, including StepParams
};

/// How a shader accesses one tensor.
enum class Access : uint8_t {
    Load4, ///< read through INPUT4/LOAD4: a texel buffer or a storage buffer, whichever the device prefers
    Read,  ///< read through a storage buffer (integers, scalars)
    Write
};

/// One tensor of a dispatch: an input or an output of its node.
struct Binding {
    Access access;
    bool isOutput = false;
    uint32_t index = 0;
    uint64_t byteOffset = 0; ///< start of the bound part, for row shards
    uint64_t byteSize = 0;   ///< 0: to the end
};

/// The number of workgroups along one axis: `count`, times ceil(live / per) if a live length is named.
struct GridAxis {
    uint32_t count = 1;
    std::optional<StepScalar> live;
    uint32_t per = 1;

    static GridAxis fixed(uint64_t groups) { return {static_cast<uint32_t>(groups), {}, 1}; }
    static GridAxis over(std::optional<StepScalar> live, uint64_t capacity, uint32_t per) {
        if (!live) return fixed((capacity + per - 1) / per);
        return {1, live, per};
    }
    uint32_t groups(const StepParams& step) const { return live ? count * ((step[*live] + per - 1) / per) : count; }
};

/// One kernel launch as data. Binding 0 is StepParams; `bindings` follow in order.
struct Dispatch {
    std::string_view shader; ///< "ops/softmax"
    std::vector<Binding> bindings{};
    std::vector<uint32_t> push{};           ///< at most 32 words
    std::vector<uint32_t> specialisation{}; ///< constant ids 0, 1, ...
    GridAxis x{}, y{}, z{};
    /// Reads the workgroup counts from three words of this input instead of x, y, z.
    std::optional<Binding> indirectFrom{};
    bool barrierBefore = false; ///< must wait for the previous dispatch of the same node
};

inline uint32_t pushFloat(double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }

inline Binding load4(uint32_t input) { return {Access::Load4, false, input}; }
inline Binding readInput(uint32_t input) { return {Access::Read, false, input}; }
inline Binding writeOutput(uint32_t output) { return {Access::Write, true, output}; }

} // namespace attn
