#pragma once

#include "engine/analysis/logit_target.h"
#include "engine/runtime/dense_result.h"
#include "engine/session/language_model.h"

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// A model's graph over one whole sequence, to which an analysis adds what it wants to know. Runs on the model's device
/// and weights, with its gates and edits, and leaves its cache alone.
class WholeRun {
public:
    /// @param tokens at least one  @param edited hooks that the analysis changes itself
    /// @throws Error if there are none, or more than fit into the context
    WholeRun(LanguageModel& model, std::span<const int> tokens, std::set<std::string> edited = {});

    LanguageModel& model() const { return model_; }
    Graph& graph() const { return *built_.graph; }
    Tensor logits() const { return built_.logits; } ///< [length(),V]
    int64_t tokens() const { return static_cast<int64_t>(tokens_.size()); }
    int64_t length() const { return length_; } ///< rows of the graph: the tokens and padding
    /// The token that an analysis is asked about. @param position -1: the last  @throws Error if there is none such
    int position(int position) const;
    bool has(const std::string& hook) const { return graph().probes().contains(hook); }
    Tensor hook(const std::string& name) const; ///< @throws Error if there is none
    /// A weight of a layer, of the first one where layers share theirs.
    Tensor weight(int layer, const std::string& name, Shape shape) const;

    /// To be called once, when everything is added.
    void compile(const std::map<std::string, Tensor>& outputs);
    /// Inputs may be written after compile().
    GpuExecutor& executor() { return *executor_; }
    /// Writes tokens, gates and edits; an analysis that changes hooks writes its own after this.
    void prepare();
    void run() { executor_->run({}); }
    /// Dense.
    std::vector<float> result(const std::string& name) const;

private:
    LanguageModel& model_;
    std::vector<int> tokens_;
    int64_t length_;
    DecoderGraph built_;
    std::unique_ptr<GpuExecutor> executor_;
};

/// A plan of its own over the model's weights.
std::unique_ptr<GpuExecutor> weightRun(LanguageModel& model, const std::shared_ptr<Graph>& graph,
                                       const std::map<std::string, Tensor>& outputs);

/// A text as the model reads it: token ids separated by commas where it has no tokenizer.
std::vector<int> tokensOf(const LanguageModel& model, const std::string& text);

/// [1,V] input of a graph that picks it out of logits; writeTarget() fills it.
Tensor targetInput(Graph& graph, int64_t vocabulary);
void writeTarget(GpuExecutor& executor, const LogitTarget& target);

} // namespace attn
