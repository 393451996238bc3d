#pragma once

#include "engine/analysis/logit_target.h"
#include "engine/inference/language_model.h"
#include "engine/inference/site_pattern.h"
#include "engine/runtime/dense_result.h"

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// The graph of a model over one whole input. An analysis adds its outputs and runs it. Uses the model's device,
/// weights, gates and other changes, and does not touch its cache.
class WholeRun {
public:
    /// The parts of the graph that an analysis needs besides its hooks.
    enum class Needs : uint8_t { Nothing, Prediction };

    /// @throws Error as RunningModel::require(), and if the model predicts no tokens, and no class of the whole input
    WholeRun(RunningModel& model, const Input& input, const WholeBuild& build = {}, Needs needs = Needs::Prediction);

    RunningModel& model() const { return model_; }
    const ModelGraph& built() const { return built_; }
    Graph& graph() const { return *built_.graph; }
    /// [length(),V] of the next tokens, [length(),classes] of a text, or [1,classes] of a picture
    Tensor logits() const { return built_.logits ? built_.logits : built_.classes; }
    int64_t tokens() const { return std::ssize(input_.tokens()); }
    int64_t length() const; ///< rows of the graph: tokens and padding
    /// Adds the input for the row of a text whose prediction to explain. Call before compile(); without effect on
    /// pictures.
    /// @param position the token after which to predict, -1: the last one; ignored if the model has one answer to the
    /// whole text, which it reads from one row
    /// @return the row; 0 of a picture  @throws Error if there is no such token
    int predictAfter(int position);
    Tensor row() const { return row_; }               ///< I32 [1] that row; null of a picture
    Tensor prediction() const { return prediction_; } ///< [1,V] the logits of that row, or [1,classes]
    bool has(const std::string& hook) const { return graph().probes().contains(hook); }
    Tensor hook(const std::string& name) const; ///< @throws Error if there is no such hook
    /// A parameter of a site: "W_O". If all layers share their parameters, that of the first.
    Tensor weight(int site, const std::string& name, Shape shape) const;

    /// Compiles the graph. Call once, after all outputs are added.
    void compile(const std::map<std::string, Tensor>& outputs);
    /// The compiled graph. Write inputs after compile().
    GpuExecutor& executor() { return *executor_; }
    /// Writes the input, the gates and the other changes. An analysis that changes hooks writes its values after this.
    void prepare();
    void run() { executor_->run({}); }
    /// The values of an output, without row padding.
    std::vector<float> result(const std::string& name) const;

private:
    RunningModel& model_;
    Input input_;
    ModelGraph built_;
    Tensor row_{}, prediction_;
    int position_ = 0; ///< the row that `row_` holds
    std::unique_ptr<GpuExecutor> executor_;
};

/// Patterns without their padding. @param cells [H,T,S]  @param full T and S  @return [H,queries,keys]
std::vector<float> withoutPadding(const std::vector<float>& cells, const Shape& full, int64_t queries, int64_t keys);

/// The logits that a model answers with: of the next token, or of the classes of a text or a picture.
/// @throws Error if it answers for each token, or not at all; as RunningModel::predict()
std::vector<float> answerTo(RunningModel& model, const Input& input);

/// @throws Error if the logits of the last run are no answer, as requireLogits()
void requireAnswer(const LanguageModel& model);

/// The patterns of a run on a whole input. @return one per site; without values if it forms no pattern
/// @throws Error if a weight is not finite, or as requireAnswer()
std::vector<SitePattern> wholePatterns(RunningModel& model, const Input& input);

/// Compiles a graph that reads only the model's parameters.
std::unique_ptr<GpuExecutor> weightRun(RunningModel& model, const std::shared_ptr<Graph>& graph,
                                       const std::map<std::string, Tensor>& outputs);

/// The tokens of a text. Without a tokenizer, the text is a list of token ids separated by commas.
std::vector<int> tokensOf(const LanguageModel& model, const std::string& text);

/// tokensOf() for the text that an encoder reads.
std::vector<int> sourceTokensOf(const LanguageModel& model, const std::string& text);

/// The logit of a target: the sum of logits times its coefficients, which writeTarget() writes. A token or class that
/// the model bars adds 0.
/// @param logits [1,V] or [1,classes]  @return [1]
Tensor targetLogit(Tensor logits);
/// Fills the input that targetLogit() added.
void writeTarget(GpuExecutor& executor, const LogitTarget& target);

} // namespace attn
