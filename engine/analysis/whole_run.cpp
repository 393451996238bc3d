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
} // namespace

WholeRun::WholeRun(RunningModel& model, const Input& input, const WholeBuild& build)
    : model_(model), input_(input), built_(model.wholeGraph(input, build)) {
    if (!built_.logits && input.isText())
        throw Error({.what = "this model has no readout, so there is no prediction to explain",
                     .where = model.info().name,
                     .hint = "open a folder that holds the model's masked-token head"});
}

int64_t WholeRun::length() const { return built_.logits.shape()[0]; }

int WholeRun::position(int position) const {
    if (position < static_cast<int>(input_.tokens().size()))
        return position < 0 ? static_cast<int>(input_.tokens().size()) - 1 : position;
    throw Error({.what = fmt::format("there is no token {}", position),
                 .where = "position",
                 .hint = fmt::format("choose a token from 0 to {}", input_.tokens().size() - 1)});
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
    executor_ = model_.executorOf(built_, outputs);
    prepare();
}

void WholeRun::prepare() { model_.writeWhole(*executor_, input_); }

std::vector<float> WholeRun::result(const std::string& name) const { return denseResult(*executor_, name); }

std::unique_ptr<GpuExecutor> weightRun(RunningModel& model, const std::shared_ptr<Graph>& graph,
                                       const std::map<std::string, Tensor>& outputs) {
    return std::make_unique<GpuExecutor>(model.device(), model.store(), compile(graph, outputs));
}

std::vector<int> tokensOf(const LanguageModel& model, const std::string& text) {
    return model.tokenizer() ? model.tokenizer()->encode(text).ids : parseTokenIds(text);
}

Tensor targetInput(Graph& graph, int64_t vocabulary) { return graph.input(kTarget, {.shape = {1, vocabulary}}); }

void writeTarget(GpuExecutor& executor, const LogitTarget& target) { writeTarget(executor.input(kTarget), target); }

} // namespace attn
