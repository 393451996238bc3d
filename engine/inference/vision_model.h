#pragma once

#include "engine/inference/running_model.h"
#include "engine/inference/site_pattern.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// A vision model: runs one picture, and gives logits, patterns and other hooks.
class VisionModel : public RunningModel {
public:
    /// @throws Error if it is a model of text, or as loadModel()
    VisionModel(std::unique_ptr<ModelSource> source, const LoadOptions& options, const Progress& progress = {});
    ~VisionModel() override;

    /// The picture as the model reads it: resized and cropped. @throws Error as fitted(), or if the result has the
    /// wrong size
    Image seen(const Image& image) const;
    /// The input of the model: normalised patches. @return [patches, channels * patch * patch]
    std::vector<float> patchesOf(const Image& image) const;

    void requireHead() const; ///< @throws Error if the model has no classifier

    void require(const Input& input) const override;
    /// @throws Error also if the model has no classifier
    std::vector<float> predict(const Input& input, const Cancelled& isCancelled = {}) override;
    /// Tokens of layers that merge contain several patches.
    std::vector<int> rowsOfInput(int site) const override;
    bool ordersByWindow(int site) const override;
    void requireSameRows(const std::string& hook) const override;
    /// The same hooks need no new plan.
    std::vector<CapturedHook> capture(const Input& input, const std::string& hooks) override;

    /// The patterns and logits of a picture.
    struct PatternsAndLogits {
        std::vector<SitePattern> patterns; ///< one per layer; without values if it forms no pattern
        std::vector<float> logits;         ///< [classes]; empty without a classifier
    };
    /// Runs a picture. @param layer computes only the pattern of this layer, to save memory; none: all, and the
    /// logits
    /// @throws Error if the size of the patches does not fit
    PatternsAndLogits patternsAndLogits(const Input& picture, std::optional<int> layer = {});

    /// The positions that are added to patches. @return [patches, C]; empty if the model adds none
    std::vector<float> patchPositions() const;
    /// The embedding matrix of patches. @return [C, channels * patch * patch]
    std::vector<float> patchFilters() const;

private:
    /// The plans for one set of changed hooks.
    struct Runs {
        std::unique_ptr<GpuExecutor> classifier;
        std::map<std::set<std::string>, std::unique_ptr<GpuExecutor>> capturers; ///< by captured hooks
    };
    Runs& runs() { return changedHooks().empty() ? plain_ : changed_; }
    std::unique_ptr<GpuExecutor> makeExecutor(const std::set<std::string>& probes);
    bool run(GpuExecutor& executor, const Input& picture, const Cancelled& isCancelled);

    ModelGraph graphOf(const Input& input, const WholeBuild& build) const override;
    void writeInput(GpuExecutor& executor, const Input& input) const override;
    void changesChanged(bool isOtherSet) override;
    /// The rows of a hook may be in the order of windows.
    int rowOf(const std::string& hook, int token) const override;
    Input sourceOf(const ValueChange& change, bool isContrast, const Input& own,
                   const std::optional<Input>& other) const override;
    CapturedHook originalValues(const Input& input, const std::string& hook) override;
    int64_t rowsOf(int site) const override { return config().patches.tokensOf(site); }
    /// @param pattern [H,T,T], or with windows [windows,H,places,places]
    void writePattern(const ChangeInputs& pattern, const PatternChange& change, size_t first,
                      size_t count) const override;

    Runs plain_, changed_;
};

/// A model that must read pictures. @throws Error if it does not
VisionModel& visionModel(RunningModel& model);

} // namespace attn
