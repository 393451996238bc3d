#pragma once

#include "engine/gpu/buffer.h"
#include "engine/inference/language_model.h"
#include "engine/inference/long_pattern_view.h"
#include "engine/ops/tensor_statistics.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attn {

/// The measured execution of one op of a step.
struct OpTime {
    uint32_t op = 0;       ///< index in Plan::ops
    std::string name;      ///< name of the operation: "fused_attention"
    std::string path;      ///< path of its output; empty if it has none
    std::string shader;    ///< shader of its first dispatch; "processor" if that computes it
    int dispatches = 0;    ///< number of kernels launched
    double elapsedMs = 0;  ///< the median of several runs
    double operations = 0; ///< floating-point operations on live rows; 0: unknown
    double bytes = 0;      ///< bytes read and written if each value is accessed once; 0: unknown
};

/// A step with the time of every op. On software Vulkan, a timestamp costs about as much as a small dispatch.
struct StepProfile {
    std::shared_ptr<const Plan> plan;
    int64_t queries = 0; ///< number of tokens in the step
    std::vector<OpTime> ops;
    double totalMs = 0;
};

/// A kernel of a plan.
struct KernelUse {
    std::string shader;
    std::array<uint32_t, 3> localSize{}; ///< invocations of a workgroup
    uint32_t pushBytes = 0;
    std::vector<uint32_t> specialisation;
    bool texelInputs = false;
    int dispatches = 0;                                     ///< dispatches in the step
    std::vector<std::pair<std::string, std::string>> facts; ///< statistics from the driver, by name
};

/// A use of memory and its size, for a list.
struct MemoryUse {
    std::string purpose;
    int64_t bytes = 0;
};

/// Gives viewers access to tensors of a loaded model in device memory, without a copy to the host. Results stay valid
/// until the next call of the same function or a change of the model. The cache does not change. For use by one thread,
/// that of the model.
class Microscope {
public:
    explicit Microscope(LanguageModel& model);
    ~Microscope();

    /// The reason, as a sentence, why patterns and plans of this model cannot be shown from the device; empty if they
    /// can.
    const std::string& refusal() const { return refusal_; }

    /// Patterns of all heads of a layer: [heads, size, size] floats with padded rows. The first `rows` rows of a head
    /// start at query firstRow * cells.
    struct LayerTiles {
        VkBuffer buffer = VK_NULL_HANDLE;
        uint64_t byteOffset = 0;
        int heads = 0, size = 0, rowStride = 0; ///< in floats
        int firstRow = 0, rows = 0, columns = 0;
        /// Pixels [rows, size] from firstRow on that replace the pixels of heads with a changed pattern.
        std::vector<PatternTile> changedRows;
    };
    /// Draws the patterns of a layer.
    /// @param size  pixels per side of a pattern
    /// @param cells tokens per side of a pixel, which shows the largest weight: a power of two, at most 512
    LayerTiles layerTiles(int layer, int size, int cells, int firstRow);

    /// A long-pattern view of the cached queries and keys of a layer. Only the newest view may be used.
    /// @throws Error if the model has no caches, or the device has too little memory
    std::unique_ptr<LongPatternView> longPatternView(int layer);

    /// A tensor on the device, as a matrix.
    struct DeviceTensor {
        std::string name;
        Shape shape;
        std::string axes; ///< a letter for each axis of a hook; else empty
        VkBuffer buffer = VK_NULL_HANDLE;
        uint64_t byteOffset = 0, byteSize = 0;
        int64_t rowStride = 0; ///< in floats
        TensorStatistics statistics;
        bool isSigned() const { return statistics.minimum < 0; }
    };
    /// A hook, from another run on the tokens in the cache, or a parameter. @throws Error if there is none of this name
    DeviceTensor tensor(const std::string& name);
    /// One value of the tensor in the last call of tensor().
    float value(int64_t row, int64_t column) const;

    /// Euclidean norms of the residual stream: the embedding, then after each layer. @return [layers + 1, tokens]
    DeviceTensor residualNorms();
    float residualNorm(int64_t row, int64_t token) const; ///< one value of the last residualNorms()

    enum class Phase : uint8_t { Prefill, Decode };
    /// Runs the last token (or the first tokens of the prompt, one prefill step) again with the current changes, and
    /// measures every dispatch. @throws Error if there are no tokens, or only one for a prefill
    StepProfile profile(Phase phase);
    /// The plan of the step that profile() measures. @throws Error as profile()
    std::shared_ptr<const Plan> plan(Phase phase);
    /// The kernels of a plan, in order of first use.
    std::vector<KernelUse> kernels(const Plan& plan) const;

    std::vector<MemoryUse> memory() const; ///< uses of device memory, largest first

private:
    struct TensorPlan;
    /// A step with a timestamp after every dispatch.
    struct Timed {
        std::shared_ptr<const Plan> plan;
        std::unique_ptr<GpuExecutor> executor;
        std::set<std::string> changed; ///< hooks that can be changed in it
        size_t first = 0, count = 1;   ///< range of its tokens
    };
    Timed& timedStep(Phase phase);
    GpuExecutor& runHook(const std::string& name);
    std::unique_ptr<GpuExecutor> executorOf(const std::shared_ptr<Graph>& graph,
                                            const std::map<std::string, Tensor>& outputs) const;
    std::vector<float> changedRow(GpuExecutor& executor, LensBand band, int layer, int head, int row,
                                  int columns) const;
    void requireTokens(size_t count) const;
    void followRoom(); ///< drops what reads the caches if they have other memory than before

    LanguageModel& model_;
    std::string refusal_;
    std::map<std::tuple<int, int, bool>, std::unique_ptr<GpuExecutor>> tiles_; ///< by layer, size and fineness
    std::unique_ptr<TensorPlan> tensorPlan_, normsPlan_;
    uint64_t room_ = 0;              ///< LanguageModel::roomChanges() of the tiles and the timed steps
    std::map<int64_t, Timed> timed_; ///< by the largest number of queries
};

} // namespace attn
