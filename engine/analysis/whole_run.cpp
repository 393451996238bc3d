#include "engine/analysis/whole_run.h"

#include "engine/analysis/text_rows.h"
#include "engine/core/error.h"
#include "engine/inference/capture_file.h"
#include "engine/inference/finite_count.h"
#include "engine/inference/graph_sources.h"
#include "engine/inference/shared_parameters.h"
#include "engine/inference/vision_model.h"
#include "engine/ops/tensor_ops.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace attn {
namespace {

constexpr const char* kTarget = "analysis.target";
constexpr const char* kRow = "analysis.row";

/// @throws Error if a weight is no number: scores compare such a weight with others as if it were one
void requirePatterns(const std::vector<SitePattern>& patterns, const std::string& where) {
    FiniteCount weights;
    for (const SitePattern& pattern : patterns) weights.add(pattern.values);
    weights.require("weights of attention", where);
}

} // namespace

WholeRun::WholeRun(RunningModel& model, const Input& input, const WholeBuild& build, Needs needs)
    : model_(model), input_(input), built_(model.wholeGraph(input, build)), prediction_(built_.logits) {
    if (needs == Needs::Nothing || built_.logits) return;
    if (!input.isText()) visionModel(model).requireHead();
    if (model.info().classes > 0) return;
    if (built_.classes)
        throw Error({.what =
                         "this model answers about each token or about a part of the text, and this lens explains a "
                         "predicted token or a class of the whole text",
                     .where = model.info().name,
                     .hint = "use another lens, or open a model that predicts tokens or classes of texts"});
    throw Error({.what = "this model predicts no tokens, so there is no prediction to explain",
                 .where = model.info().name,
                 .hint = "open a folder that holds the model's masked-token head"});
}

int64_t WholeRun::length() const { return logits().shape()[0]; }

int WholeRun::predictAfter(int position) {
    if (!input_.isText()) return 0;
    const int count = static_cast<int>(input_.tokens().size());
    if (position >= count)
        throw Error({.what = fmt::format("there is no token {}", position),
                     .where = "position",
                     .hint = fmt::format("choose a token from 0 to {}", count - 1)});
    const bool isChosen = position >= 0 && model_.info().classes == 0;
    position_ = isChosen ? position : static_cast<int>(model_.predictedRow(input_));
    row_ = graph().input(kRow, {.shape = {1}, .dtype = DType::I32});
    prediction_ = take(logits(), row_);
    return position_;
}

Tensor WholeRun::hook(const std::string& name) const {
    const auto probe = graph().probes().find(name);
    if (probe == graph().probes().end())
        throw Error({.what = fmt::format("the model has no {}", name),
                     .where = model_.info().name,
                     .hint = "choose another analysis: this attention does not compute it"});
    return probe->second.tensor;
}

Tensor WholeRun::weight(int site, const std::string& name, Shape shape) const {
    return graph().parameter(parameterName(model_.store(), model_.info().structure, site, name), std::move(shape));
}

void WholeRun::compile(const std::map<std::string, Tensor>& outputs) {
    executor_ = model_.executorOf(built_, outputs);
    if (row_) executor_->inputIntegers(kRow)[0] = position_;
    prepare();
}

void WholeRun::prepare() { model_.writeWhole(*executor_, input_); }

std::vector<float> WholeRun::result(const std::string& name) const { return denseResult(*executor_, name); }

std::vector<float> withoutPadding(const std::vector<float>& cells, const Shape& full, int64_t queries, int64_t keys) {
    std::vector<float> kept;
    for (int64_t row = 0; row < static_cast<int64_t>(cells.size()) / full[1]; ++row)
        if (row % full[0] < queries)
            kept.insert(kept.end(), cells.begin() + row * full[1], cells.begin() + row * full[1] + keys);
    return kept;
}

std::vector<float> answerTo(RunningModel& model, const Input& input) {
    std::vector<float> logits = model.predict(input);
    if (!logits.empty()) return logits;
    throw Error(
        {.what = "this model has no single answer to a text: it predicts neither a token nor a class of the whole",
         .where = model.info().name,
         .hint = "open a model that does"});
}

void requireAnswer(const LanguageModel& model) {
    if (const auto classes = model.classes())
        requireLogits(classes->logits, model.info().name, classes->activation);
    else
        requireLogits(model.logits(), model.info().name);
}

std::vector<SitePattern> wholePatterns(RunningModel& model, const Input& input) {
    if (!input.isText()) {
        auto [patterns, logits] = visionModel(model).patternsAndLogits(input);
        requireLogits(logits, model.info().name, model.info().activation);
        requirePatterns(patterns, model.info().name);
        return std::move(patterns);
    }
    const ModelStructure& structure = model.info().structure;
    const TextRows rows(structure, input);
    std::vector<SitePattern> patterns;
    for (const Site& site : structure.sites)
        patterns.push_back({.layout = {.tokens = static_cast<int64_t>(rows.count(site.queryStream)),
                                       .keys = static_cast<int64_t>(rows.count(site.keyStream))},
                            .heads = site.heads,
                            .values = {}});
    std::vector<std::string> names;
    for (const std::string& hook : model.info().hooks)
        if (hook.ends_with(".hook_pattern") && structure.siteOf(hook)) names.push_back(hook);
    if (names.empty()) return patterns;
    for (CapturedHook& hook : model.capture(input, fmt::format("{}", fmt::join(names, ","))))
        patterns.at(static_cast<size_t>(structure.siteOf(hook.name).value())).values = std::move(hook.values);
    requireAnswer(languageModel(model));
    requirePatterns(patterns, model.info().name);
    return patterns;
}

std::unique_ptr<GpuExecutor> weightRun(RunningModel& model, const std::shared_ptr<Graph>& graph,
                                       const std::map<std::string, Tensor>& outputs) {
    return std::make_unique<GpuExecutor>(model.device(), model.store(), compile(graph, outputs));
}

std::vector<int> tokensOf(const LanguageModel& model, const std::string& text) {
    return model.tokenizer() ? model.tokenizer()->readWhole(text).ids : parseTokenIds(text);
}

std::vector<int> sourceTokensOf(const LanguageModel& model, const std::string& text) {
    return model.sourceTokenizer() ? model.sourceTokenizer()->readWhole(text).ids : parseTokenIds(text);
}

Tensor targetLogit(Tensor logits) {
    const Tensor coefficients = logits.graph->input(kTarget, {.shape = {1, logits.shape().columns()}});
    constexpr double kLargest = std::numeric_limits<float>::max();
    return sum(multiply(clamp(logits, -kLargest, kLargest), coefficients)); // 0 times minus infinity is no number
}

void writeTarget(GpuExecutor& executor, const LogitTarget& target) { writeTarget(executor.input(kTarget), target); }

} // namespace attn
