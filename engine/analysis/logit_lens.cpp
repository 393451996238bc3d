#include "engine/analysis/logit_lens.h"

#include "engine/analysis/read_out.h"
#include "engine/analysis/whole_run.h"
#include "engine/core/error.h"
#include "engine/models/hook_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {
namespace {

std::string lastStream(const LanguageModel& model) { return inBlock(model.info().layers - 1, "hook_resid_post"); }

} // namespace

std::shared_ptr<AnalysisResult> LogitLensAnalysis::run(RunningModel& running, const AnalysisContext& context) const {
    LanguageModel& model = languageModel(running);
    WholeRun whole(model, context.input);
    auto lens = std::make_shared<LogitLens>();
    std::map<std::string, Tensor> streams;
    std::vector<std::string> names{inBlock(0, "hook_resid_pre")};
    lens->stages.emplace_back("embedding");
    for (int layer = 0; layer < model.info().layers; ++layer) {
        names.push_back(inBlock(layer, "hook_resid_post"));
        lens->stages.push_back(fmt::format("layer {}", layer));
    }
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
    lens->tokens = static_cast<int>(count);
    lens->choices = last.choices;
    for (size_t token = 0; token < count; ++token)
        lens->final.push_back(last.ids[token * static_cast<size_t>(last.choices)]);
    for (size_t stage = 0; stage < names.size(); ++stage) {
        if (context.report)
            context.report(static_cast<float>(stage) / static_cast<float>(names.size()), lens->stages[stage]);
        const ReadOutRows rows = readOut.read(rowsOf(names[stage]), lens->final);
        lens->ids.insert(lens->ids.end(), rows.ids.begin(), rows.ids.end());
        lens->probabilities.insert(lens->probabilities.end(), rows.probabilities.begin(), rows.probabilities.end());
        lens->entropy.insert(lens->entropy.end(), rows.entropy.begin(), rows.entropy.end());
        lens->finalRank.insert(lens->finalRank.end(), rows.targetRank.begin(), rows.targetRank.end());
        for (float logarithm : rows.targetLogProbability) lens->finalProbability.push_back(std::exp(logarithm));
    }
    return lens;
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
