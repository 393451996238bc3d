#include "engine/analysis/logit_lens.h"

#include "engine/analysis/read_out.h"
#include "engine/analysis/whole_run.h"
#include "engine/core/error.h"
#include "engine/inference/finite_count.h"
#include "engine/inference/vision_model.h"
#include "engine/models/model_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

namespace attn {
namespace {

/// The indices of the largest values, in falling order.
std::vector<int> mostLikely(std::span<const float> values, int count) {
    std::vector<int> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(), [&](int index) { return values[static_cast<size_t>(index)]; });
    order.resize(static_cast<size_t>(count));
    return order;
}

std::string lastStream(const LanguageModel& model) {
    return model.info().structure.sites.back().inBlock("hook_resid_post");
}

/// The rows of a hook that are not padding.
std::vector<float> rowsOf(const WholeRun& whole, const std::string& hook, size_t count) {
    std::vector<float> rows = whole.result(hook);
    rows.resize(rows.size() / static_cast<size_t>(whole.hook(hook).shape()[0]) * count);
    return rows;
}

/// The hooks of the residual stream of a stack, before its first block and after each one.
struct StageHooks {
    std::vector<std::string> names;
    std::string stack; ///< see LogitLens::Stage
};
StageHooks stageHooks(const ModelInfo& info, int stream) {
    StageHooks hooks;
    for (const int site : info.structure.firstSites()) {
        const Site& at = info.site(site);
        if (at.queryStream != stream) continue;
        if (hooks.names.empty()) hooks.names.push_back(at.inBlock("hook_resid_pre"));
        hooks.names.push_back(at.inBlock("hook_resid_post"));
        if (info.readsSource) hooks.stack = at.stack();
    }
    return hooks;
}

/// Summaries of the predictions of a stream, row by row.
LogitLens::Stage stageOf(ReadOut& readOut, const LogitLens& lens, std::span<const float> stream) {
    ReadOutRows rows = readOut.read(stream, lens.final);
    LogitLens::Stage stage;
    stage.rows = static_cast<int>(rows.rows);
    stage.ids = std::move(rows.ids);
    stage.probabilities = std::move(rows.probabilities);
    stage.entropy = std::move(rows.entropy);
    stage.finalRank = std::move(rows.targetRank);
    for (const float logarithm : rows.targetLogProbability) stage.finalProbability.push_back(std::exp(logarithm));
    return stage;
}

/// Adds the stages of the encoder before its last one: the decoder reads each of them instead of the last.
void addSource(LogitLens& lens, LanguageModel& model, ReadOut& readOut, const AnalysisContext& context) {
    const StageHooks hooks = stageHooks(model.info(), 0);
    const std::string& read = hooks.names.back();
    const std::string last = lastStream(model);
    WholeRun whole(model, context.input, {.changed = {read}});
    std::map<std::string, Tensor> outputs{{last, whole.hook(last)}};
    for (const std::string& name : hooks.names) outputs.emplace(name, whole.hook(name));
    whole.compile(outputs);
    const auto kept = whole.executor().input(decoder_names::kept(read)),
               added = whole.executor().input(decoder_names::added(read));
    if (!model.hookChanges().hooks().contains(read)) {
        std::ranges::fill(kept, 1.0f);
        std::ranges::fill(added, 0.0f);
    }
    const auto add = [&](size_t at) {
        whole.run();
        LogitLens::Stage stage = stageOf(readOut, lens, rowsOf(whole, last, static_cast<size_t>(whole.tokens())));
        stage.layer = static_cast<int>(at) - 1;
        stage.stack = hooks.stack;
        lens.stages.push_back(std::move(stage));
    };
    whole.run();
    std::vector<std::vector<float>> values;
    for (const std::string& name : hooks.names) values.push_back(whole.result(name));
    std::vector<float> before(kept.begin(), kept.end()), plus(added.begin(), added.end());
    const Shape shape = whole.hook(read).shape(); // [S,C]
    for (size_t at = 0; at + 1 < values.size(); ++at) {
        if (context.report)
            context.report(static_cast<float>(at) / static_cast<float>(2 * values.size()), "layers of the encoder");
        std::ranges::fill(kept, 0.0f);
        const auto wide = static_cast<size_t>(shape.columns()), stride = static_cast<size_t>(shape.rowStride());
        for (size_t row = 0; row < values[at].size() / wide; ++row)
            std::ranges::copy(std::span(values[at]).subspan(row * wide, wide),
                              added.begin() + static_cast<std::ptrdiff_t>(row * stride));
        add(at);
    }
    std::ranges::copy(before, kept.begin());
    std::ranges::copy(plus, added.begin());
    add(values.size() - 1);
}

/// Appends the summary of a row of logits to a stage of a picture.
/// @param activation Softmax or Sigmoid; with Sigmoid the entropy is the sum over all labels
void addRow(LogitLens::Stage& stage, const LogitLens& lens, std::span<const float> logits, ClassActivation activation) {
    const std::vector<float> shares = saidOf(logits, activation);
    double entropy = 0;
    const auto term = [](double share) { return share > 0 ? share * std::log(share) : 0; };
    for (const float share : shares) {
        entropy -= term(static_cast<double>(share));
        if (activation == ClassActivation::Sigmoid) entropy -= term(1 - static_cast<double>(share));
    }
    for (const int id : mostLikely(shares, lens.choices)) {
        stage.ids.push_back(id);
        stage.probabilities.push_back(shares[static_cast<size_t>(id)]);
    }
    stage.entropy.push_back(static_cast<float>(entropy));
    for (const int id : lens.final) stage.finalProbability.push_back(shares[static_cast<size_t>(id)]);
    const float final = stage.finalProbability[static_cast<size_t>(stage.rows * lens.finals)];
    stage.finalRank.push_back(
        static_cast<int>(std::ranges::count_if(shares, [&](float share) { return share > final; })));
    ++stage.rows;
}

/// The logits of a readout of classes after each stage.
struct ClassStage {
    int layer = -1;
    std::vector<float> together; ///< [classes] as the readout reads the layer
    std::vector<float> alone;    ///< [rows, classes] when the readout reads each row by itself; may be empty
};

/// @param stages at least one; the last one holds the final prediction
std::shared_ptr<LogitLens> lensOfClasses(const ModelInfo& info, const LogitLensAnalysis& analysis,
                                         std::span<const ClassStage> stages) {
    auto lens = std::make_shared<LogitLens>();
    lens->isOfTokens = false;
    lens->choices = std::min(analysis.choices, info.classes);
    lens->finals = std::min(analysis.finals, info.classes);
    lens->final = mostLikely(stages.back().together, lens->finals);
    const auto classes = static_cast<size_t>(info.classes);
    for (const ClassStage& each : stages) {
        requireLogits(each.together, info.name, info.activation); // shares of infinite ones look like numbers
        LogitLens::Stage& stage = lens->stages.emplace_back();
        stage.layer = each.layer;
        addRow(stage, *lens, each.together, info.activation);
        for (size_t first = 0; first < each.alone.size(); first += classes)
            addRow(stage, *lens, std::span(each.alone).subspan(first, classes), info.activation);
    }
    return lens;
}

std::vector<ClassStage> stagesOf(VisionModel& model, const Input& picture) {
    WholeRun whole(model, picture, {.readsAllLayers = true});
    const std::vector<Tensor>&together = whole.built().stages, &alone = whole.built().tokenStages;
    const auto name = [](const char* what, size_t stage) { return fmt::format("{}.{}", what, stage); };
    std::map<std::string, Tensor> outputs;
    for (size_t stage = 0; stage < together.size(); ++stage) {
        if (together[stage]) outputs.emplace(name("together", stage), together[stage]);
        if (alone[stage]) outputs.emplace(name("alone", stage), alone[stage]);
    }
    whole.compile(outputs);
    whole.run();
    std::vector<ClassStage> stages;
    for (size_t at = 0; at < together.size(); ++at)
        if (together[at])
            stages.push_back({.layer = static_cast<int>(at) - 1,
                              .together = whole.result(name("together", at)),
                              .alone = alone[at] ? whole.result(name("alone", at)) : std::vector<float>()});
    return stages;
}

/// For each layer, the row that the class readout of a text reads.
std::vector<ClassStage> stagesOf(LanguageModel& model, const Input& text) {
    WholeRun whole(model, text);
    const StageHooks hooks = stageHooks(model.info(), model.info().structure.sites.back().queryStream);
    std::map<std::string, Tensor> streams;
    for (const std::string& name : hooks.names) streams.emplace(name, whole.hook(name));
    whole.compile(streams);
    whole.run();
    const auto graph = std::make_shared<Graph>();
    const int64_t width = model.streamWidth();
    const Tensor stream = graph->input("stream", {.shape = {1, width}});
    const auto readout = weightRun(model, graph, {{"classes", readOut(model.config(), stream)}});
    std::vector<ClassStage> stages;
    for (const std::string& name : hooks.names) {
        const std::vector<float> rows = whole.result(name);
        std::ranges::copy(
            std::span(rows).subspan(model.predictedRow(text) * static_cast<size_t>(width), static_cast<size_t>(width)),
            readout->input("stream").begin());
        readout->run({});
        stages.push_back(
            {.layer = static_cast<int>(stages.size()) - 1, .together = denseResult(*readout, "classes"), .alone = {}});
    }
    return stages;
}

std::shared_ptr<LogitLens> lensOfText(LanguageModel& model, const AnalysisContext& context, int choices) {
    WholeRun whole(model, context.input);
    auto lens = std::make_shared<LogitLens>();
    const StageHooks hooks = stageHooks(model.info(), model.info().structure.sites.back().queryStream);
    std::map<std::string, Tensor> streams;
    for (const std::string& name : hooks.names) streams.emplace(name, whole.hook(name));
    whole.compile(streams);
    whole.run();

    ReadOut readOut(model, choices);
    const auto count = static_cast<size_t>(whole.tokens());
    const ReadOutRows last = readOut.read(rowsOf(whole, hooks.names.back(), count), std::vector<int>(count, 0));
    lens->choices = last.choices;
    for (size_t token = 0; token < count; ++token)
        lens->final.push_back(last.ids[token * static_cast<size_t>(last.choices)]);
    if (model.info().readsSource) addSource(*lens, model, readOut, context);
    for (size_t at = 0; at < hooks.names.size(); ++at) {
        LogitLens::Stage stage = stageOf(readOut, *lens, rowsOf(whole, hooks.names[at], count));
        stage.layer = static_cast<int>(at) - 1;
        stage.stack = hooks.stack;
        if (context.report)
            context.report(static_cast<float>(at) / static_cast<float>(hooks.names.size()), stage.name());
        lens->stages.push_back(std::move(stage));
    }
    return lens;
}

} // namespace

std::string LogitLens::Stage::name() const {
    return fmt::format("{}{}{}", stack, stack.empty() ? "" : " ",
                       layer < 0 ? "embedding" : fmt::format("layer {}", layer));
}

std::shared_ptr<AnalysisResult> LogitLensAnalysis::run(RunningModel& model, const AnalysisContext& context) const {
    const ModelInfo& info = model.info();
    const bool isText = context.input.isText();
    if (isText && info.classes == 0) return lensOfText(languageModel(model), context, choices);
    if (info.classes > 0 && info.activation == ClassActivation::None)
        throw Error({.what = "this model answers with numbers (regression), which have no probabilities for a lens",
                     .where = info.name,
                     .hint = "use input gradients, logit attribution or the effects of heads, which explain a number"});
    return lensOfClasses(info, *this,
                         isText ? stagesOf(languageModel(model), context.input)
                                : stagesOf(visionModel(model), context.input));
}

double TokenScores::meanLoss() const {
    double sum = 0;
    for (size_t token = 1; token < loss.size(); ++token) sum += static_cast<double>(loss[token]);
    return loss.size() < 2 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(loss.size() - 1);
}

double TokenScores::perplexity() const { return std::exp(meanLoss()); }

std::shared_ptr<AnalysisResult> TokenScoresAnalysis::run(RunningModel& running, const AnalysisContext& context) const {
    LanguageModel& model = languageModel(running);
    const bool fillsGaps = model.config().readout() == TextReadout::MaskedToken;
    if (model.config().readout() != TextReadout::NextToken)
        throw Error(
            {.what = fillsGaps ? "this model fills gaps, so it has no next-token loss"
                               : "this model does not predict the next token, so there is no loss of it",
             .where = model.info().name,
             .hint = fillsGaps ? "use the logit lens with [MASK] in the text" : "open a model that continues texts"});
    auto scores = std::make_shared<TokenScores>();
    scores->tokens = !text.empty() ? tokensOf(model, text) : tokens.empty() ? context.input.tokens() : tokens;
    TextInput input = context.input.text(); // the source stays
    input.types.clear();
    const auto begin = static_cast<int>(model.config().startToken);
    if (model.info().readsSource && (scores->tokens.empty() || scores->tokens.front() != begin))
        scores->tokens.insert(scores->tokens.begin(), begin);
    const std::vector<int>& all = scores->tokens;
    ReadOut readOut(model, choices);
    scores->choices = std::min(choices, model.info().vocabulary);
    const auto width = static_cast<size_t>(scores->choices);
    const auto addFirst = [&] {
        scores->loss.push_back(std::numeric_limits<float>::quiet_NaN());
        scores->entropy.push_back(std::numeric_limits<float>::quiet_NaN());
        scores->rank.push_back(-1);
        scores->ids.resize(width, -1);
        scores->probabilities.resize(width, 0);
    };
    if (!all.empty()) addFirst();
    const auto window = static_cast<size_t>(model.wholeCapacity());
    if (window < 2 && all.size() > 1)
        throw Error({.what = "this model reads one token at a time, so none has a token before it to be predicted from",
                     .where = model.info().name,
                     .hint = "open a model whose context has two tokens or more"});
    const std::string stream = lastStream(model);
    for (size_t known = 1; known < all.size();) { // number of tokens that have scores
        if (context.report) context.report(static_cast<float>(known) / static_cast<float>(all.size()), "losses");
        const size_t first = known == 1 ? 0 : known - window / 2, end = std::min(all.size(), first + window);
        input.tokens.assign(all.begin() + static_cast<std::ptrdiff_t>(first),
                            all.begin() + static_cast<std::ptrdiff_t>(end));
        WholeRun whole(model, input);
        whole.compile({{stream, whole.hook(stream)}});
        if (model.config().hasPrefix) { // the prefix must not show a token that is scored
            const auto positions = whole.executor().inputIntegers(decoder_names::kKeyPositions);
            std::iota(positions.begin(), positions.end(), 0);
        }
        whole.run();
        std::vector<float> rows = whole.result(stream);
        const auto wide = static_cast<size_t>(readOut.width());
        rows.resize((end - first) * wide);
        rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>((known - 1 - first) * wide));
        rows.resize(rows.size() - wide); // the token after the last one is unknown
        const ReadOutRows said = readOut.read(rows, std::span(all).subspan(known, end - known));
        for (float logarithm : said.targetLogProbability) scores->loss.push_back(-logarithm);
        scores->entropy.insert(scores->entropy.end(), said.entropy.begin(), said.entropy.end());
        scores->rank.insert(scores->rank.end(), said.targetRank.begin(), said.targetRank.end());
        scores->ids.insert(scores->ids.end(), said.ids.begin(), said.ids.end());
        scores->probabilities.insert(scores->probabilities.end(), said.probabilities.begin(), said.probabilities.end());
        known = end;
    }
    return scores;
}

} // namespace attn
