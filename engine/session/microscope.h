#pragma once

#include "engine/ops/tensor_statistics.h"
#include "engine/session/attention_lens.h"
#include "engine/session/language_model.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attn {

/// One op of a step as it ran on the device.
struct OpTime {
    uint32_t op = 0;       ///< index in Plan::ops
    std::string name;      ///< of the operation: "fused_attention"
    std::string path;      ///< of what it makes, empty where that has no name
    std::string shader;    ///< of its first dispatch
    int dispatches = 0;    ///< kernels launched
    double elapsedMs = 0;  ///< the median of several runs
    double operations = 0; ///< floating-point, of the live rows; 0: not known
    double bytes = 0;      ///< read and written if every value is touched once; 0: not known
};

/// A step with every op timed. Timestamps cost software Vulkan about as much as a small dispatch each.
struct StepProfile {
    std::shared_ptr<const Plan> plan;
    int64_t queries = 0; ///< tokens that the step ran
    std::vector<OpTime> ops;
    double totalMs = 0;
};

/// A kernel as plans use it.
struct KernelUse {
    std::string shader;
    std::array<uint32_t, 3> localSize{}; ///< invocations of a workgroup
    uint32_t pushBytes = 0;
    std::vector<uint32_t> specialisation;
    bool texelInputs = false;
    int dispatches = 0;                                     ///< of the step
    std::vector<std::pair<std::string, std::string>> facts; ///< what the driver says, by name
};

/// What a memory is used for, for a listing.
struct MemoryUse {
    std::string purpose;
    int64_t bytes = 0;
};

/// Looks at a loaded model where it lies: for viewers that draw tensors from device memory, without a copy to the host.
/// Everything it gives stays valid until the same is asked for again or the model changes. The cache stays as it is.
/// One thread, like the model.
class Microscope {
public:
    explicit Microscope(LanguageModel& model);
    ~Microscope();

    /// Why this model's patterns and plans cannot be shown from the device, as a sentence; empty if they can.
    const std::string& refusal() const { return refusal_; }

    /// Patterns of all heads of a layer, one after another: [heads, size, size] floats with padded rows, of which the
    /// first `rows` of a head are those of queries firstRow * cells onward.
    struct LayerTiles {
        VkBuffer buffer = VK_NULL_HANDLE;
        uint64_t byteOffset = 0;
        int heads = 0, size = 0, rowStride = 0; ///< in floats
        int firstRow = 0, rows = 0, columns = 0;
        /// Of heads whose pattern is set by hand, these pixels instead: [rows, size] from firstRow on.
        std::vector<PatternTile> byHand;
    };
    /// @param size  pixels on a side that there is room for
    /// @param cells tokens on a side of a pixel, which takes the largest probability under it: a power of two, to 512
    LayerTiles layerTiles(int layer, int size, int cells, int firstRow);

    /// A lens on a layer's queries and keys as they lie in the caches, rotated and with the layer's rule. Only the
    /// newest may be used. @throws Error if the model has no caches, or there is no room
    std::unique_ptr<AttentionLens> lens(int layer);

    /// A tensor on the device as rows of columns.
    struct DeviceTensor {
        std::string name;
        Shape shape;
        std::string axes; ///< a letter for each axis of a hook, else empty
        VkBuffer buffer = VK_NULL_HANDLE;
        uint64_t byteOffset = 0, byteSize = 0;
        int64_t rowStride = 0; ///< in floats
        TensorStatistics statistics;
        bool isSigned() const { return statistics.minimum < 0; }
    };
    /// A hook, of the tokens in the cache run once more, or a weight. @throws Error if there is none of that name
    DeviceTensor tensor(const std::string& name);
    /// One value of the tensor that was asked for last.
    float value(int64_t row, int64_t column) const;

    /// Euclidean norms of the residual stream: the embedding, then after each layer. @return [layers + 1, tokens]
    DeviceTensor residualNorms();
    float residualNorm(int64_t row, int64_t token) const; ///< one of those that were asked for last

    enum class Phase : uint8_t { Prefill, Decode };
    /// Runs the last token (or the first ones of the prompt, as many as a prefill step takes) once more with every
    /// dispatch timed, changed as the model is. @throws Error if there are no tokens, or one alone for a prefill
    StepProfile profile(Phase phase);
    /// The plan of the step that profile() times. @throws Error as that
    std::shared_ptr<const Plan> plan(Phase phase);
    /// The kernels of a plan, in order of first use.
    std::vector<KernelUse> kernels(const Plan& plan) const;

    std::vector<MemoryUse> memory() const; ///< of the device, largest first

private:
    struct Looking;
    /// A step with a timestamp after every dispatch.
    struct Timed {
        std::shared_ptr<const Plan> plan;
        std::unique_ptr<GpuExecutor> executor;
        std::set<std::string> edited; ///< hooks that it is planned for
        size_t first = 0, count = 1;  ///< of the tokens that it runs
    };
    Timed& timedStep(Phase phase);
    GpuExecutor& runHook(const std::string& name);
    std::unique_ptr<GpuExecutor> executorOf(const std::shared_ptr<Graph>& graph,
                                            const std::map<std::string, Tensor>& outputs) const;
    std::vector<float> rowByHand(GpuExecutor& executor, LensBand band, int layer, int head, int row, int columns) const;
    void requireTokens(size_t count) const;

    LanguageModel& model_;
    std::string refusal_;
    std::map<std::tuple<int, int, bool>, std::unique_ptr<GpuExecutor>> tiles_; ///< by layer, size and fineness
    std::unique_ptr<Looking> looked_, norms_;
    std::map<int64_t, Timed> timed_; ///< by the queries that the plan has room for
};

} // namespace attn
