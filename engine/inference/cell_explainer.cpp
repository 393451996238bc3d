#include "engine/inference/cell_explainer.h"

#include "engine/attention/part.h"
#include "engine/core/error.h"
#include "engine/inference/language_model.h"
#include "engine/inference/patterns.h"
#include "engine/inference/shared_parameters.h"
#include "engine/models/hook_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

// The arithmetic of single cells.

namespace attn {
namespace {

/// Computes the softmax of the cell's row. @param scores NaN where masked
void weigh(CellExplanation& cell, const std::vector<double>& scores) {
    double maximum = -INFINITY, sum = 0;
    for (double score : scores)
        if (!std::isnan(score)) maximum = std::max(maximum, score);
    for (double score : scores) sum += std::isnan(score) ? 0 : std::exp(score - maximum);
    for (double score : scores) {
        cell.rowScores.push_back(static_cast<float>(score));
        cell.rowProbabilities.push_back(
            std::isnan(score) || sum == 0 ? 0.0f : static_cast<float>(std::exp(score - maximum) / sum));
    }
    cell.rowMaximum = static_cast<float>(maximum);
    cell.rowSum = static_cast<float>(sum);
    cell.probability = cell.rowProbabilities[static_cast<size_t>(cell.key)];
}

double dotOf(std::span<const float> a, std::span<const float> b) {
    double sum = 0;
    for (size_t d = 0; d < a.size(); ++d) sum += static_cast<double>(a[d]) * static_cast<double>(b[d]);
    return sum;
}

/// Why the arithmetic of a cell of this attention cannot be shown; empty if it can.
std::string whyNotExplained(const AttentionSpec& spec) {
    const auto title = [&](Slot slot) { return spec.part(slot).title; };
    if (spec.part(Slot::Mixer).replacesAttention)
        return fmt::format("{} replaces attention: no query has a score with a key.", title(Slot::Mixer));
    if (!spec.part(Slot::Normaliser).isSoftmax)
        return fmt::format("The weights of {} are not a softmax of scores, so a cell's score does not give its weight.",
                           title(Slot::Normaliser));
    if (!spec.part(Slot::Score).dotScale)
        return fmt::format("The score of {} is not a sum of products of query and key features.", title(Slot::Score));
    if (spec.part(Slot::Position).multipliesScores)
        return fmt::format("{} multiplies the scores instead of adding to them.", title(Slot::Position));
    if (spec.part(Slot::Heads).mixesHeads)
        return fmt::format("{}: every weight mixes the scores of all heads.", title(Slot::Heads));
    if (!spec.part(Slot::Memory).hooks.empty())
        return fmt::format("With {}, the weight of a cell also depends on remembered keys.", title(Slot::Memory));
    return {};
}

class CellExplainer {
public:
    explicit CellExplainer(LanguageModel& model) : model_(model) {}
    void explainCached(CellExplanation& cell) const;
    void explainFormed(CellExplanation& cell) const;

private:
    std::vector<float> cacheRow(const std::string& state, int row, int head) const;
    /// Sets the terms that the cell adds to z and, through W_O, to the residual stream.
    /// @param reachesStream whether z is added without further parts
    void addContribution(CellExplanation& cell, bool reachesStream) const;

    LanguageModel& model_;
};

std::vector<float> CellExplainer::cacheRow(const std::string& state, int row, int head) const {
    const Shape& shape = model_.store().entry(state).shape; // [S, heads, D]
    const std::vector<float> all = model_.store().read(state);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>((row * shape[1] + head) * shape[2]);
    return {begin, begin + static_cast<std::ptrdiff_t>(shape[2])};
}

void CellExplainer::explainCached(CellExplanation& cell) const {
    const AttentionRule rule = model_.ruleOf(cell.site);
    const HeadLayout heads = model_.attentionOf(cell.site).heads();
    const std::string prefix = siteName(cell.site);
    cell.q = cacheRow(prefix + ".cache_q", cell.query, cell.head);
    cell.v = cacheRow(prefix + ".cache_v", cell.key, cell.keyValueHead);
    cell.scale = static_cast<float>(rule.scale);

    const std::vector<float> keys = model_.store().read(prefix + ".cache_k"); // [S,G,D]
    const auto D = static_cast<size_t>(heads.width), G = static_cast<size_t>(heads.keyValueHeads);
    const auto keyOf = [&](int key) {
        return std::span(keys).subspan((static_cast<size_t>(key) * G + static_cast<size_t>(cell.keyValueHead)) * D, D);
    };
    std::vector<double> scores;
    for (int key = 0; key < static_cast<int>(model_.tokens().size()); ++key) {
        const double dot = dotOf(cell.q, keyOf(key));
        const bool isAfter = key > cell.query;
        const bool isTooFar = rule.window > 0 && cell.query - key >= rule.window;
        const bool isMasked = isAfter || isTooFar;
        scores.push_back(isMasked ? NAN : dot * rule.scale);
        if (key != cell.key) continue;
        cell.dot = static_cast<float>(dot);
        cell.score = static_cast<float>(dot * rule.scale);
        cell.isMasked = isMasked;
        cell.maskReason =
            isAfter    ? "the key comes after the query"
            : isTooFar ? fmt::format("the key is {} tokens back; the window is {}", cell.query - key, rule.window)
                       : "";
    }
    cell.k.assign(keyOf(cell.key).begin(), keyOf(cell.key).end());
    for (size_t d = 0; d < D; ++d) cell.products.push_back(cell.q[d] * cell.k[d]);
    weigh(cell, scores);
    cell.displayed = model_.patterns().weight({cell.site, cell.head, cell.query, cell.key});
    addContribution(cell, true);
}

void CellExplainer::explainFormed(CellExplanation& cell) const {
    cell.displayed = model_.patterns().weight({cell.site, cell.head, cell.query, cell.key});
    const AttentionSpec& spec = model_.attentionOf(cell.site).spec;
    cell.remark = whyNotExplained(spec);
    if (!cell.remark.empty()) return;

    const std::string prefix = attentionHook(cell.site, "");
    const std::vector<int> tokens = model_.tokens();
    const auto captured = model_.capture(model_.input(), prefix + "*");
    const auto find = [&](const std::string& hook) -> const CapturedHook* {
        const auto found = std::ranges::find(captured, prefix + hook, &CapturedHook::name);
        return found == captured.end() ? nullptr : &*found;
    };
    /// The vector of a token and a head in a hook [T,heads,D].
    const auto vectorOf = [](const CapturedHook& from, int token, int head) {
        const auto heads = static_cast<int>(from.shape[1]);
        const auto width = static_cast<size_t>(from.shape[2]);
        return std::span(from.values).subspan(static_cast<size_t>(token * heads + head) * width, width);
    };
    const auto count = static_cast<int>(tokens.size());
    /// The value of the cell's row and a key in a hook [H,T,S].
    const auto cellOf = [&](const CapturedHook& from, int key) {
        return from.values[static_cast<size_t>((cell.head * count + cell.query) * count + key)];
    };
    const CapturedHook *q = find("rot_q"), *k = find("rot_k");
    if (!q) q = find("q");
    if (!k) k = find("k");
    const auto query = vectorOf(*q, cell.query, cell.head), key = vectorOf(*k, cell.key, cell.keyValueHead),
               value = vectorOf(*find("v"), cell.key, cell.keyValueHead);
    cell.q.assign(query.begin(), query.end());
    cell.k.assign(key.begin(), key.end());
    cell.v.assign(value.begin(), value.end());
    for (size_t d = 0; d < query.size(); ++d) cell.products.push_back(query[d] * key[d]);
    const double scale = model_.attentionOf(cell.site).scoreScale();
    cell.scale = static_cast<float>(scale);

    std::vector<std::pair<std::string, const CapturedHook*>> terms;
    const std::set<std::string> others{"q", "k", "v", "rot_q", "rot_k", "z", "attn_scores", "pattern"};
    for (const CapturedHook& hook : captured)
        if (const std::string name = hook.name.substr(prefix.size()); !others.contains(name))
            terms.emplace_back(name, &hook);
    const CapturedHook& formed = *find("attn_scores"); // shows which cells are hidden
    std::vector<double> scores;
    for (int s = 0; s < count; ++s) {
        const double dot = dotOf(query, vectorOf(*k, s, cell.keyValueHead));
        double score = dot * scale;
        for (const auto& [name, term] : terms) score += static_cast<double>(cellOf(*term, s));
        const bool isMasked = !(cellOf(formed, s) > static_cast<float>(kMasked) / 2);
        scores.push_back(isMasked ? NAN : score);
        if (s != cell.key) continue;
        cell.dot = static_cast<float>(dot);
        cell.score = static_cast<float>(score);
        for (const auto& [name, term] : terms) cell.terms.push_back({name, cellOf(*term, s)});
        cell.isMasked = isMasked;
    }
    const MaskSize size{.queries = count, .keys = count, .heads = model_.info().heads, .layer = cell.site};
    if (cell.isMasked)
        cell.maskReason = cell.key > cell.query && spec.mask.sight(size) != MaskSight::Ahead
                              ? "the key comes after the query"
                              : fmt::format("the mask {} hides it", spec.mask.text());
    weigh(cell, scores);
    if (const auto table = spec.part(Slot::Position).addedToValues; !table.empty()) {
        const std::string name = parameterName(model_.store(), cell.site, "attn." + std::string(table));
        const std::vector<float> rows = model_.store().read(name);
        const int64_t reach = (model_.store().entry(name).shape[0] - 1) / 2,
                      row = std::clamp<int64_t>(cell.key - cell.query, -reach, reach) + reach;
        for (size_t d = 0; d < cell.v.size(); ++d) cell.v[d] += rows[static_cast<size_t>(row) * cell.v.size() + d];
    }
    addContribution(cell, spec.part(Slot::Output).hooks.empty());
}

void CellExplainer::addContribution(CellExplanation& cell, bool reachesStream) const {
    for (float value : cell.v) cell.contribution.push_back(cell.probability * value);
    if (!reachesStream) return;
    const std::vector<float> output =
        model_.store().read(parameterName(model_.store(), cell.site, "attn.W_O")); // [C, H*D]
    const size_t D = cell.v.size(), width = static_cast<size_t>(model_.info().heads) * D;
    for (size_t c = 0; c < output.size() / width; ++c)
        cell.residualContribution.push_back(static_cast<float>(
            dotOf(std::span(output).subspan(c * width + static_cast<size_t>(cell.head) * D, D), cell.contribution)));
}

} // namespace

CellExplanation explainCell(LanguageModel& model, const CellRequest& asked) {
    const auto count = static_cast<int>(model.tokens().size());
    if (asked.site < 0 || asked.site >= model.info().layers || asked.head < 0 || asked.head >= model.info().heads ||
        asked.query < 0 || asked.query >= count || asked.key < 0 || asked.key >= count)
        throw Error({.what = fmt::format("there is no cell ({}, {}) in layer {}, head {}", asked.query, asked.key,
                                         asked.site, asked.head),
                     .where = model.info().name,
                     .hint = fmt::format("the model has {} layers of {} heads and the text has {} tokens",
                                         model.info().layers, model.info().heads, count)});
    CellExplanation cell{.site = asked.site, .head = asked.head};
    const HeadLayout heads = model.attentionOf(cell.site).heads();
    cell.keyValueHead = cell.head / static_cast<int>(heads.heads / heads.keyValueHeads);
    cell.query = asked.query;
    cell.key = asked.key;
    if (const auto row = model.rowByHand(cell.site, cell.head, cell.query); !row.empty()) {
        cell.remark = "a change sets this row of the pattern";
        cell.displayed = cell.key < static_cast<int>(row.size()) ? row[static_cast<size_t>(cell.key)] : 0;
        return cell;
    }
    CellExplainer explainer(model);
    if (model.isCached())
        explainer.explainCached(cell);
    else
        explainer.explainFormed(cell);
    return cell;
}

} // namespace attn
