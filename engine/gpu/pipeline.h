#pragma once

#include "engine/gpu/pipeline_cache.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attn::gpu {

/// The kind of a shader's binding (set 0, binding = position in the list).
enum class BindingKind : uint8_t {
    TexelInput, ///< textureBuffer, bound to a BufferView
    Storage     ///< buffer block, bound to a range of a Buffer
};

/// A compute shader that is ready to dispatch. Creating one may take seconds; several threads may do it at once.
class ComputePipeline {
public:
    struct Options {
        std::string name;                ///< "ops/softmax"
        std::span<const uint32_t> spirv; ///< only read during construction; entry point "main"
        std::vector<BindingKind> bindings{};
        uint32_t pushConstantBytes = 0;         ///< a multiple of 4
        std::vector<uint32_t> specialisation{}; ///< constant ids 0, 1, ...; bits of any 32-bit type
    };

    ComputePipeline() = default; ///< empty; assign to it before use
    /// @param cache null: compiles from scratch
    /// @throws Error if the device allows fewer push constants or buffers than the shader needs
    ComputePipeline(Context& context, const Options& options, const PipelineCache* cache = nullptr);

    VkPipeline get() const { return pipeline_.get(); }
    VkPipelineLayout layout() const { return layout_.get(); }
    VkDescriptorSetLayout setLayout() const { return setLayout_.get(); }
    const std::string& name() const { return name_; }
    const std::vector<BindingKind>& bindings() const { return bindings_; }
    uint32_t pushConstantBytes() const { return pushConstantBytes_; }

private:
    std::string name_;
    std::vector<BindingKind> bindings_;
    uint32_t pushConstantBytes_ = 0;
    Owned<VkDescriptorSetLayout, vkDestroyDescriptorSetLayout> setLayout_;
    Owned<VkPipelineLayout, vkDestroyPipelineLayout> layout_;
    Owned<VkPipeline, vkDestroyPipeline> pipeline_;
};

} // namespace attn::gpu
