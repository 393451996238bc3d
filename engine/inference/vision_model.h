#pragma once

#include "engine/inference/changes.h"
#include "engine/inference/graph_sources.h"
#include "engine/inference/hook_edits.h"
#include "engine/inference/hooks.h"
#include "engine/inference/model_info.h"
#include "engine/inference/site_pattern.h"
#include "engine/models/vision_encoder.h"
#include "engine/models/vision_source.h"
#include "engine/runtime/device.h"

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
class GpuExecutor;
class TensorStore;

/// A loaded vision model on a device. Runs one picture, and gives logits, patterns and other hooks. Synchronous; for
/// use by one thread.
class VisionModel {
public:
    using Progress = LoadProgress;
    using Cancelled = std::function<bool()>;

    VisionModel(std::unique_ptr<VisionSource> source, const DeviceChoice& choice, const Progress& progress = {});
    ~VisionModel();

    /// Replaces the parameters by those of a source with the same description, such as another checkpoint.
    /// @return whether it fits; the source is then moved from
    /// @throws Error as the source; the model is then unusable
    bool takeWeights(std::unique_ptr<VisionSource>& source);

    const ModelInfo& info() const { return info_; }
    const VisionConfig& config() const { return source_->config(); }
    Device& device() { return *device_; }
    int64_t deviceBytes() const;

    /// The picture as the model reads it: resized and cropped. @throws Error as fitted(), or if the result has the
    /// wrong size
    Image seen(const Image& image) const;
    /// The input of the model: normalised patches. @return [patches, channels * patch * patch]
    std::vector<float> patchesOf(const Image& image) const;

    void requireHead() const; ///< @throws Error if the model has no classifier

    void setGate(int layer, int head, float gate);             ///< negative: all; takes effect with the next run
    const std::vector<float>& gates() const { return gates_; } ///< [layers, heads]

    /// Sets changes to hooks, from the next run on. New numbers for the same hooks need no new plan.
    /// @param own patches of the picture that an empty text in edits means
    /// @param other patches of the picture that any other text means; empty: none
    /// @throws Error naming the change that does not fit the model; the former edits then stay
    void setEdits(const Changes& edits, std::span<const float> own, std::span<const float> other);
    /// Sets all changes, gates included. Otherwise as setEdits().
    void setChanges(const Changes& changes, std::span<const float> own, std::span<const float> other);
    void setHookEdits(HookEdits edits);
    const HookEdits& hookEdits() const { return edits_; }
    void bypassEdits(bool isBypassed) { isBypassed_ = isBypassed; } ///< turns gates and edits off while true
    bool isEdited() const;                                          ///< a gate is not 1 or a hook is edited

    /// A graph for one picture with the current changes, to which analyses add outputs.
    VisionGraph wholeGraph(VisionBuild build) const;
    /// Compiles a graph. @param encoder from wholeGraph()
    std::unique_ptr<GpuExecutor> executorOf(const VisionGraph& encoder, const std::map<std::string, Tensor>& outputs);
    /// Writes patches, gates and edits for a run. @throws Error if the size of the patches does not fit
    void write(GpuExecutor& executor, std::span<const float> patches) const;

    /// Classifies a picture.
    /// @throws Error if the size of the patches does not fit, or the model has no classifier
    /// @return logits [classes]; empty if cancelled
    std::vector<float> classify(std::span<const float> patches, const Cancelled& isCancelled = {});

    /// Runs a picture and captures hooks, in execution order. The same hooks need no new plan.
    /// @param hooks globs, separated by commas
    /// @throws Error listing the hooks if a glob matches none, or if the size of the patches does not fit
    std::vector<CapturedHook> capture(std::span<const float> patches, const std::string& hooks);

    /// The patterns and logits of a picture.
    struct PatternsAndLogits {
        std::vector<SitePattern> patterns; ///< one per layer; without values if it forms no pattern
        std::vector<float> logits;         ///< [classes]; empty without a classifier
    };
    /// Runs a picture. @param layer computes only the pattern of this layer, to save memory; no value: all, and the
    /// logits
    /// @throws Error if the size of the patches does not fit
    PatternsAndLogits patternsAndLogits(std::span<const float> patches, std::optional<int> layer = {});

    /// The gradient of the logit of a class with respect to all attention weights. Another class needs no new plan.
    /// @return one per layer, in the shape of SitePattern::values; empty if cancelled
    /// @throws Error if the model has no classifier or no such class, or a layer forms no pattern
    std::vector<std::vector<float>> patternGradients(std::span<const float> patches, int label,
                                                     const Cancelled& isCancelled = {});

    /// The positions that are added to patches. @return [patches, C]; empty if the model adds none
    std::vector<float> patchPositions() const;
    /// The embedding matrix of patches. @return [C, channels * patch * patch]
    std::vector<float> patchFilters() const;

private:
    /// The plans for one set of changed hooks.
    struct Runs {
        std::unique_ptr<GpuExecutor> classifier, differentiator;
        std::map<std::set<std::string>, std::unique_ptr<GpuExecutor>> capturers; ///< by captured hooks
    };
    Runs& runs() { return editedHooks().empty() ? plain_ : edited_; }
    std::set<std::string> editedHooks() const;
    std::unique_ptr<GpuExecutor> makeExecutor(const std::set<std::string>& probes);
    std::unique_ptr<GpuExecutor> makeDifferentiator();
    const CapturedHook& valuesOf(bool isOther, const std::string& hook, bool isMean);
    /// The row of a token in a hook, whose rows may be in the order of windows. @param token -1: all
    int rowOf(const std::string& hook, int token) const;
    void writeEdits(GpuExecutor& executor) const;
    /// @param pattern [H,T,T], or with windows [windows,H,places,places]
    void writePattern(const EditInputs& pattern, const PatternEdit& edit, const LayerLayout& layout) const;
    bool run(GpuExecutor& executor, std::span<const float> patches, const Cancelled& isCancelled);
    void load(const Progress& progress);

    std::unique_ptr<VisionSource> source_;
    std::shared_ptr<Device> device_;
    std::unique_ptr<TensorStore> store_;
    Runs plain_, edited_;
    std::vector<float> gates_; ///< [layers, heads]
    HookEdits edits_;
    bool isBypassed_ = false;
    std::array<std::vector<float>, 2> sources_;  ///< patches that edits copy values from: own and other
    std::map<std::string, CapturedHook> values_; ///< values by source and hook
    ModelInfo info_;
};

/// The softmax of logits. @return the same size, sums to 1
std::vector<float> probabilitiesOf(std::span<const float> logits);

} // namespace attn
