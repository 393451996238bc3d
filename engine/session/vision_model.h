#pragma once

#include "engine/models/vision_source.h"
#include "engine/runtime/gpu_executor.h"
#include "engine/session/graph_sources.h"
#include "engine/session/hooks.h"
#include "engine/session/layer_pattern.h"
#include "engine/session/vision_info.h"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// A loaded vision model on a device: one picture in; logits, patterns and every other hook out. Synchronous; used from
/// one thread.
class VisionModel {
public:
    struct Options {
        std::optional<std::string> device;
        std::optional<int> softwareThreads; ///< empty: inline for small models, Mesa's default for large ones
        bool validation = false;
    };
    using Progress = LoadProgress;
    using Cancelled = std::function<bool()>;

    VisionModel(std::unique_ptr<VisionSource> source, const Options& options, const Progress& progress = {});
    ~VisionModel();

    /// Takes the weights of another source in place of its own, if that describes the same model: a run at another
    /// moment. @return whether it did; the source is taken then  @throws Error as the source; the model is unusable
    /// then
    bool takeWeights(std::unique_ptr<VisionSource>& source);

    const VisionInfo& info() const { return info_; }
    const VisionConfig& config() const { return source_->config(); }
    gpu::Context& context() { return *context_; }
    int64_t deviceBytes() const;

    /// The picture as the model sees it: resized and cropped. @throws Error as fitted(), or if it then has another size
    /// than the model reads
    Image seen(const Image& image) const;
    /// What the model is given. @return [patches, channels patch patch], normalised
    std::vector<float> patchesOf(const Image& image) const;

    void setGate(int layer, int head, float gate); ///< negative: all of them; takes effect with the next run

    /// @param patches of one picture  @throws Error for another count of numbers, or where the model has no head
    /// @return logits [classes]; empty if it was cancelled
    std::vector<float> classify(std::span<const float> patches, const Cancelled& isCancelled = {});

    /// Runs the patches with the hooks requested, in execution order; a run that asks for the same hooks plans nothing
    /// again. @param hooks globs separated by commas
    /// @throws Error naming the hooks that exist when none matches, or for another count of numbers
    std::vector<CapturedHook> capture(std::span<const float> patches, const std::string& hooks);

    /// What the heads make of a picture.
    struct Look {
        std::vector<LayerPattern> patterns; ///< of each layer; one that forms none has no values
        std::vector<float> logits;          ///< [classes]; empty without a head
    };
    /// @param layer alone whose pattern is wanted: memory holds no others; none: all, and the logits
    /// @throws Error for another count of numbers
    Look look(std::span<const float> patches, std::optional<int> layer = {});

    /// How the logit of a class changes with every weight of every head. Another class plans nothing again.
    /// @return of each layer, as LayerPattern::values; empty if it was cancelled
    /// @throws Error where the model has no head, the class is none of its, or a layer forms no pattern
    std::vector<std::vector<float>> patternGradients(std::span<const float> patches, int label,
                                                     const Cancelled& isCancelled = {});

    /// What is added to each patch for its place. @return [patches, C]; empty where the model has no such positions
    std::vector<float> patchPositions() const;
    /// What makes a token of a patch. @return [C, channels patch patch]
    std::vector<float> patchFilters() const;

private:
    std::unique_ptr<GpuExecutor> makeExecutor(const std::set<std::string>& probes);
    std::unique_ptr<GpuExecutor> makeDifferentiator();
    void requireHead() const;
    bool run(GpuExecutor& executor, std::span<const float> patches, const Cancelled& isCancelled);
    void load(const Progress& progress);
    void describe(const Graph& graph);

    std::unique_ptr<VisionSource> source_;
    std::unique_ptr<gpu::Context> context_;
    std::unique_ptr<KernelLibrary> kernels_;
    std::unique_ptr<TensorStore> store_;
    std::unique_ptr<GpuExecutor> classifier_;
    std::unique_ptr<GpuExecutor> capturer_;
    std::unique_ptr<GpuExecutor> differentiator_;
    std::set<std::string> captured_; ///< the hooks of capturer_
    std::vector<float> gates_;       ///< [layers, heads]
    VisionInfo info_;
};

/// Of logits, each shifted by the largest first. @return the same size, summing to 1
std::vector<float> probabilitiesOf(std::span<const float> logits);

} // namespace attn
