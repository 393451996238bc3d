#pragma once

#include "engine/models/vision_encoder.h"
#include "engine/models/vision_source.h"
#include "engine/runtime/gpu_executor.h"
#include "engine/session/edits.h"
#include "engine/session/graph_sources.h"
#include "engine/session/hook_edits.h"
#include "engine/session/hooks.h"
#include "engine/session/layer_pattern.h"
#include "engine/session/vision_info.h"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace attn {

struct EditInputs;

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

    void requireHead() const; ///< @throws Error where the model has no classifier

    void setGate(int layer, int head, float gate); ///< negative: all of them; takes effect with the next run
    const std::vector<float>& gates() const { return gates_; } ///< [layers, heads]

    /// Changes what flows through hooks from the next run on; other numbers for the same hooks plan nothing again.
    /// @param own patches of the picture that edits mean by an empty text
    /// @param other those of the picture that any other text stands for; empty: there is none
    /// @throws Error naming what does not fit the model; the edits are as before then
    void setEdits(const Edits& edits, std::span<const float> own, std::span<const float> other);
    void setHookEdits(HookEdits edits);
    const HookEdits& hookEdits() const { return edits_; }
    void bypassEdits(bool isBypassed) { isBypassed_ = isBypassed; } ///< while true neither gates nor edits are in force
    bool isEdited() const;                                          ///< a gate is not 1 or a hook is edited

    /// A graph of one picture, changed as the model is now: for analyses that add to it.
    VisionGraph wholeGraph(VisionBuild build) const;
    /// Runs what was added. @param encoder of wholeGraph()
    std::unique_ptr<GpuExecutor> executorOf(const VisionGraph& encoder, const std::map<std::string, Tensor>& outputs);
    /// Patches, gates and edits of such a run. @throws Error for another count of numbers
    void write(GpuExecutor& executor, std::span<const float> patches) const;

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
    /// What is planned for one set of edited hooks.
    struct Runs {
        std::unique_ptr<GpuExecutor> classifier, differentiator;
        std::map<std::set<std::string>, std::unique_ptr<GpuExecutor>> capturers; ///< by the hooks that they capture
    };
    Runs& runs() { return editedHooks().empty() ? plain_ : edited_; }
    std::set<std::string> editedHooks() const;
    std::unique_ptr<GpuExecutor> makeExecutor(const std::set<std::string>& probes);
    std::unique_ptr<GpuExecutor> makeDifferentiator();
    const CapturedHook& valuesOf(bool isOther, const std::string& hook, bool isMean);
    /// Of a hook, which may stand in the order of its windows. @param token -1: all of them
    int rowOf(const std::string& hook, int token) const;
    void writeEdits(GpuExecutor& executor) const;
    /// @param pattern [H,T,T], or of windows [windows,H,places,places]
    void writePattern(const EditInputs& pattern, const PatternEdit& edit, const LayerLayout& layout) const;
    bool run(GpuExecutor& executor, std::span<const float> patches, const Cancelled& isCancelled);
    void load(const Progress& progress);
    void describe(const Graph& graph);

    std::unique_ptr<VisionSource> source_;
    std::unique_ptr<gpu::Context> context_;
    std::unique_ptr<KernelLibrary> kernels_;
    std::unique_ptr<TensorStore> store_;
    Runs plain_, edited_;
    std::vector<float> gates_; ///< [layers, heads]
    HookEdits edits_;
    bool isBypassed_ = false;
    std::array<std::vector<float>, 2> sources_;  ///< patches that edits take values from: own and other
    std::map<std::string, CapturedHook> values_; ///< of them, by where they are from and the hook
    VisionInfo info_;
};

/// Of logits, each shifted by the largest first. @return the same size, summing to 1
std::vector<float> probabilitiesOf(std::span<const float> logits);

} // namespace attn
