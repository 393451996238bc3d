#include "engine/analysis/whole_run.h"

#include "engine/core/error.h"
#include "engine/inference/capture_file.h"
#include "engine/inference/graph_sources.h"
#include "engine/inference/shared_parameters.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

constexpr const char* kTarget = "analysis.target";
/// Rows are padded to multiples of this. The gradient of the fused kernel needs multiples of 4; a larger multiple lets
/// similar lengths share kernels.
constexpr int64_t kRows = 8;

int64_t lengthFor(const LanguageModel& model, std::span<const int> tokens) {
    const auto count = static_cast<int64_t>(tokens.size());
    if (count == 0)
        throw Error({.what = "there are no tokens to analyse", .where = model.info().name, .hint = "enter a prompt"});
    if (count > model.capacity())
        throw Error({.what = fmt::format("{} tokens do not fit into the context of {}", count, model.capacity()),
                     .where = model.info().name,
                     .hint = "shorten the text"});
    if (model.isComposed()) return model.capacity();
    return std::min<int64_t>((count + kRows - 1) / kRows * kRows, std::max<int64_t>(model.capacity(), count));
}

} // namespace

WholeRun::WholeRun(LanguageModel& model, std::span<const int> tokens, std::set<std::string> edited)
    : model_(model), tokens_(tokens.begin(), tokens.end()), length_(lengthFor(model, tokens)),
      built_(model.wholeGraph(length_, std::move(edited))) {}

int WholeRun::position(int position) const {
    if (position < static_cast<int>(tokens_.size()))
        return position < 0 ? static_cast<int>(tokens_.size()) - 1 : position;
    throw Error({.what = fmt::format("there is no token {}", position),
                 .where = "position",
                 .hint = fmt::format("choose a token from 0 to {}", tokens_.size() - 1)});
}

Tensor WholeRun::hook(const std::string& name) const {
    const auto probe = graph().probes().find(name);
    if (probe == graph().probes().end())
        throw Error({.what = fmt::format("the model has no {}", name),
                     .where = model_.info().name,
                     .hint = "choose another analysis: this attention does not compute it"});
    return probe->second.tensor;
}

Tensor WholeRun::weight(int layer, const std::string& name, Shape shape) const {
    return graph().parameter(parameterName(model_.store(), layer, name), std::move(shape));
}

void WholeRun::compile(const std::map<std::string, Tensor>& outputs) {
    const auto plan = attn::compile(built_.graph, outputs);
    writeConstants(model_.store(), *plan, built_.composed);
    executor_ = std::make_unique<GpuExecutor>(model_.device(), model_.store(), plan);
    prepare();
}

void WholeRun::prepare() { model_.writeWhole(*executor_, tokens_); }

std::vector<float> WholeRun::result(const std::string& name) const { return denseResult(*executor_, name); }

std::unique_ptr<GpuExecutor> weightRun(LanguageModel& model, const std::shared_ptr<Graph>& graph,
                                       const std::map<std::string, Tensor>& outputs) {
    return std::make_unique<GpuExecutor>(model.device(), model.store(), compile(graph, outputs));
}

std::vector<int> tokensOf(const LanguageModel& model, const std::string& text) {
    return model.tokenizer() ? model.tokenizer()->encode(text).ids : parseTokenIds(text);
}

Tensor targetInput(Graph& graph, int64_t vocabulary) { return graph.input(kTarget, {.shape = {1, vocabulary}}); }

void writeTarget(GpuExecutor& executor, const LogitTarget& target) { writeTarget(executor.input(kTarget), target); }

} // namespace attn
