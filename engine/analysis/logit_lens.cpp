#include "engine/analysis/logit_lens.h"

#include "engine/analysis/read_out.h"
#include "engine/analysis/whole_run.h"
#include "engine/core/error.h"
#include "engine/inference/vision_model.h"
#include "engine/models/hook_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

namespace attn {
namespace {

/// The indices of the largest values, by falling value.
std::vector<int> mostLikely(std::span<const float> values, int count) {
    std::vector<int> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(), [&](int index) { return values[static_cast<size_t>(index)]; });
    order.resize(static_cast<size_t>(count));
    return order;
}

std::string lastStream(const LanguageModel& model) { return inBlock(model.info().layers - 1, "hook_resid_post"); }

/// Appends the summary of a row of logits to a stage of a picture.
void addRow(LogitLens::Stage& stage, const LogitLens& lens, std::span<const float> logits) {
    const std::vector<float> shares = probabilitiesOf(logits);
    double entropy = 0;
    for (const float share : shares) entropy -= share > 0 ? static_cast<double>(share) * std::log(share) : 0;
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

std::shared_ptr<LogitLens> lensOfPicture(VisionModel& model, const Input& picture, const LogitLensAnalysis& analysis) {
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
    auto lens = std::make_shared<LogitLens>();
    const int classes = model.info().classes;
    lens->isOfTokens = false;
    lens->choices = std::min(analysis.choices, classes);
    lens->finals = std::min(analysis.finals, classes);
    lens->final = mostLikely(whole.result(name("together", together.size() - 1)), lens->finals);
    for (size_t at = 0; at < together.size(); ++at) {
        if (!together[at]) continue;
        LogitLens::Stage& stage = lens->stages.emplace_back();
        stage.layer = static_cast<int>(at) - 1;
        addRow(stage, *lens, whole.result(name("together", at)));
        if (!alone[at]) continue;
        const std::vector<float> rows = whole.result(name("alone", at));
        for (size_t first = 0; first < rows.size(); first += static_cast<size_t>(classes))
            addRow(stage, *lens, std::span(rows).subspan(first, static_cast<size_t>(classes)));
    }
    return lens;
}

std::shared_ptr<LogitLens> lensOfText(LanguageModel& model, const AnalysisContext& context, int choices) {
    WholeRun whole(model, context.input);
    auto lens = std::make_shared<LogitLens>();
    std::vector<std::string> names{inBlock(0, "hook_resid_pre")};
    for (int layer = 0; layer < model.info().layers; ++layer) names.push_back(inBlock(layer, "hook_resid_post"));
    std::map<std::string, Tensor> streams;
    for (const std::string& name : names) streams.emplace(name, whole.hook(name));
    whole.compile(streams);
    whole.run();

    ReadOut readOut(model, choices);
    const auto count = static_cast<size_t>(whole.tokens());
    const auto rowsOf = [&](const std::string& name) {
        std::vector<float> rows = whole.result(name);
        rows.resize(count * static_cast<size_t>(readOut.width()));
        return rows;
    };
    const ReadOutRows last = readOut.read(rowsOf(names.back()), std::vector<int>(count, 0));
    lens->choices = last.choices;
    for (size_t token = 0; token < count; ++token)
        lens->final.push_back(last.ids[token * static_cast<size_t>(last.choices)]);
    for (size_t at = 0; at < names.size(); ++at) {
        LogitLens::Stage& stage = lens->stages.emplace_back();
        stage.layer = static_cast<int>(at) - 1;
        stage.rows = static_cast<int>(count);
        if (context.report) context.report(static_cast<float>(at) / static_cast<float>(names.size()), stage.name());
        ReadOutRows rows = readOut.read(rowsOf(names[at]), lens->final);
        stage.ids = std::move(rows.ids);
        stage.probabilities = std::move(rows.probabilities);
        stage.entropy = std::move(rows.entropy);
        stage.finalRank = std::move(rows.targetRank);
        for (const float logarithm : rows.targetLogProbability) stage.finalProbability.push_back(std::exp(logarithm));
    }
    return lens;
}

} // namespace

std::string LogitLens::Stage::name() const { return layer < 0 ? "embedding" : fmt::format("layer {}", layer); }

std::shared_ptr<AnalysisResult> LogitLensAnalysis::run(RunningModel& model, const AnalysisContext& context) const {
    if (!context.input.isText()) return lensOfPicture(visionModel(model), context.input, *this);
    return lensOfText(languageModel(model), context, choices);
}

double TokenScores::meanLoss() const {
    double sum = 0;
    for (size_t token = 1; token < loss.size(); ++token) sum += static_cast<double>(loss[token]);
    return loss.size() < 2 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(loss.size() - 1);
}

double TokenScores::perplexity() const { return std::exp(meanLoss()); }

std::shared_ptr<AnalysisResult> TokenScoresAnalysis::run(RunningModel& running, const AnalysisContext& context) const {
    LanguageModel& model = languageModel(running);
    if (model.config().readout != TextReadout::NextToken)
        throw Error({.what = "this model predicts the token that it reads, not the one after it",
                     .where = model.info().name,
                     .hint = "use the logit lens with [MASK] in the text"});
    auto scores = std::make_shared<TokenScores>();
    scores->tokens = !text.empty() ? tokensOf(model, text) : tokens.empty() ? context.input.tokens() : tokens;
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
    const auto window = static_cast<size_t>(model.capacity());
    const std::string stream = lastStream(model);
    for (size_t known = 1; known < all.size();) { // number of tokens that have scores
        if (context.report) context.report(static_cast<float>(known) / static_cast<float>(all.size()), "losses");
        const size_t first = known == 1 ? 0 : known - window / 2, end = std::min(all.size(), first + window);
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
        WholeRun whole(model, std::vector<int>(begin, begin + static_cast<std::ptrdiff_t>(end - first)));
        whole.compile({{stream, whole.hook(stream)}});
        if (model.config().hasPrefix) { // a token that is scored must not be seen before it
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
