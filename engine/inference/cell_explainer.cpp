#include "engine/inference/cell_explainer.h"

#include "engine/attention/part.h"
#include "engine/core/bit_row.h"
#include "engine/core/error.h"
#include "engine/inference/language_model.h"
#include "engine/inference/patterns.h"
#include "engine/inference/shared_parameters.h"

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
    if (spec.part(Slot::Mixer).mix.replacesAttention)
        return fmt::format("{} replaces attention: no query has a score with a key.", title(Slot::Mixer));
    if (!spec.part(Slot::Normaliser).mix.isSoftmax)
        return fmt::format("The weights of {} are not a softmax of scores, so a cell's score does not give its weight.",
                           title(Slot::Normaliser));
    if (!spec.part(Slot::Score).score.dotScale)
        return fmt::format("The score of {} is not a sum of products of query and key features.", title(Slot::Score));
    if (spec.part(Slot::Position).position.multipliesScores)
        return fmt::format("{} multiplies the scores instead of adding to them.", title(Slot::Position));
    if (spec.part(Slot::Heads).mixesHeads)
        return fmt::format("{}: every weight mixes the scores of all heads.", title(Slot::Heads));
    for (const auto& term : spec.mask.contentTerms())
        for (const Hook& hook : term.part->hooks)
            if (hook.stage == Stage::Weights)
                return fmt::format("{} multiplies the weights after the softmax, so a cell's score does not give its "
                                   "weight.",
                                   term.part->title);
    if (!spec.part(Slot::Memory).hooks.empty())
        return fmt::format("With {}, the weight of a cell also depends on remembered keys.", title(Slot::Memory));
    if (!spec.part(Slot::Projections).hooks.empty())
        return fmt::format("{}: the rows of global tokens have keys and values of their own.",
                           title(Slot::Projections));
    return {};
}

/// The rows behind a cell: of its query, of all keys of its head, and of its value.
struct CellRows {
    std::vector<float> q, keys, v;                                 ///< [D]; [S,D]; [D]
    std::vector<std::pair<std::string, std::vector<float>>> terms; ///< [S] each: added to the scores of the query
    std::vector<bool> isMasked;                                    ///< [S]

    std::span<const float> key(int at) const {
        return std::span(keys).subspan(static_cast<size_t>(at) * q.size(), q.size());
    }
};

class CellExplainer {
public:
    explicit CellExplainer(LanguageModel& model) : model_(model) {}
    void explain(CellExplanation& cell) const;

private:
    CellRows rowsInCache(const CellExplanation& cell) const;
    CellRows rowsOfRun(const CellExplanation& cell) const;
    std::string maskReason(const CellExplanation& cell) const;
    /// Sets the terms that the cell adds to z and, through W_O, to the residual stream.
    /// @param reachesStream whether z is added without further parts
    void addContribution(CellExplanation& cell, bool reachesStream) const;
    /// The number of tokens of a model with one stream.
    int count() const { return static_cast<int>(model_.tokens().size()); }

    LanguageModel& model_;
};

/// The vectors of a head in rows [rows,heads,D], of which the first `count` are read.
std::vector<float> ofHead(std::span<const float> rows, const Shape& shape, int head, int count) {
    std::vector<float> values;
    const auto width = static_cast<size_t>(shape[2]);
    for (int64_t row = 0; row < count; ++row) {
        const auto own = rows.subspan(static_cast<size_t>(row * shape[1] + head) * width, width);
        values.insert(values.end(), own.begin(), own.end());
    }
    return values;
}
std::vector<float> rowOf(const std::vector<float>& rows, int row, size_t width) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(row) * width);
    return {begin, begin + static_cast<std::ptrdiff_t>(width)};
}

CellRows CellExplainer::rowsInCache(const CellExplanation& cell) const {
    const auto cached = [&](const char* letter, int head) {
        const std::string state = model_.info().site(cell.site).inSite(std::string("cache_") + letter);
        return ofHead(model_.store().read(state), model_.store().entry(state).shape, head, count());
    };
    const auto width = static_cast<size_t>(model_.attentionOf(cell.site).headWidth);
    CellRows rows{.q = rowOf(cached("q", cell.head), cell.query, width),
                  .keys = cached("k", cell.keyValueHead),
                  .v = rowOf(cached("v", cell.keyValueHead), cell.key, width)};
    BitRow seen;
    model_.attentionOf(cell.site).spec.mask.row(
        {.queries = model_.capacity(), .keys = model_.capacity(), .heads = model_.info().heads, .layer = cell.site},
        cell.query, seen);
    for (int key = 0; key < count(); ++key) rows.isMasked.push_back(!seen.test(key));
    return rows;
}

CellRows CellExplainer::rowsOfRun(const CellExplanation& cell) const {
    const std::string prefix = model_.info().site(cell.site).hook("");
    const auto captured = model_.capture(model_.input(), prefix + "*");
    const auto find = [&](const std::string& hook) {
        const auto found = std::ranges::find(captured, prefix + hook, &CapturedHook::name);
        return found == captured.end() ? nullptr : &*found;
    };
    const auto vectors = [&](const char* turned, const char* plain, int head) {
        const CapturedHook* hook = find(turned) ? find(turned) : find(plain);
        return ofHead(hook->values, hook->shape, head, static_cast<int>(hook->shape[0]));
    };
    const int queries = model_.queryCount(cell.site), keys = model_.keyCount(cell.site);
    /// The cell's row in a hook [H,T,S].
    const auto rowIn = [&](const CapturedHook& hook) {
        return rowOf(hook.values, cell.head * queries + cell.query, static_cast<size_t>(keys));
    };
    const auto width = static_cast<size_t>(model_.attentionOf(cell.site).headWidth);
    CellRows rows{.q = rowOf(vectors("rot_q", "q", cell.head), cell.query, width),
                  .keys = vectors("rot_k", "k", cell.keyValueHead),
                  .v = rowOf(vectors("v", "v", cell.keyValueHead), cell.key, width)};
    const std::set<std::string> others{"q", "k", "v", "rot_q", "rot_k", "z", "attn_scores", "pattern", "span"};
    for (const CapturedHook& hook : captured)
        if (const std::string name = hook.name.substr(prefix.size()); !others.contains(name))
            rows.terms.emplace_back(name, rowIn(hook));
    for (const float score : rowIn(*find("attn_scores")))
        rows.isMasked.push_back(!(score > static_cast<float>(kMasked) / 2));
    return rows;
}

std::string CellExplainer::maskReason(const CellExplanation& cell) const {
    const MaskExpression& mask = model_.attentionOf(cell.site).spec.mask;
    const int queries = model_.queryCount(cell.site), keys = model_.keyCount(cell.site);
    const MaskSize size{.queries = queries, .keys = keys, .heads = model_.info().heads, .layer = cell.site};
    if (cell.key > cell.query && mask.sight(size) != MaskSight::Ahead) return "the key comes after the query";
    const auto band = mask.band();
    if (!band || cell.key > cell.query) return fmt::format("the mask {} hides it", mask.text());
    return fmt::format("the key is {} tokens back; the window is {}", cell.query - cell.key, band->behind + 1);
}

void CellExplainer::explain(CellExplanation& cell) const {
    cell.displayed = model_.patterns().weight({cell.site, cell.head, cell.query, cell.key});
    const AttentionSpec& spec = model_.attentionOf(cell.site).spec;
    cell.remark = whyNotExplained(spec);
    if (!cell.remark.empty()) return;

    const CellRows rows = model_.isCached() ? rowsInCache(cell) : rowsOfRun(cell);
    const double scale = model_.attentionOf(cell.site).scoreScale();
    cell.scale = static_cast<float>(scale);
    const auto scoreOf = [&](int key) {
        double score = dotOf(rows.q, rows.key(key)) * scale;
        for (const auto& [name, term] : rows.terms) score += static_cast<double>(term[static_cast<size_t>(key)]);
        return score;
    };
    std::vector<double> scores;
    for (int key = 0; key < model_.keyCount(cell.site); ++key)
        scores.push_back(rows.isMasked[static_cast<size_t>(key)] ? NAN : scoreOf(key));
    const auto at = static_cast<size_t>(cell.key);
    cell.q = rows.q;
    cell.k.assign(rows.key(cell.key).begin(), rows.key(cell.key).end());
    cell.v = rows.v;
    for (size_t d = 0; d < cell.q.size(); ++d) cell.products.push_back(cell.q[d] * cell.k[d]);
    cell.dot = static_cast<float>(dotOf(cell.q, cell.k));
    cell.score = static_cast<float>(scoreOf(cell.key));
    for (const auto& [name, term] : rows.terms) cell.terms.push_back({name, term[at]});
    cell.isMasked = rows.isMasked[at];
    if (cell.isMasked) cell.maskReason = maskReason(cell);
    weigh(cell, scores);
    if (const auto table = spec.part(Slot::Position).position.addedToValues; !table.empty()) {
        const std::string name = parameterName(model_.store(), model_.info().structure, cell.site, table);
        const std::vector<float> added = model_.store().read(name);
        const int64_t reach = (model_.store().entry(name).shape[0] - 1) / 2,
                      row = std::clamp<int64_t>(cell.key - cell.query, -reach, reach) + reach;
        for (size_t d = 0; d < cell.v.size(); ++d) cell.v[d] += added[static_cast<size_t>(row) * cell.v.size() + d];
    }
    addContribution(cell, spec.part(Slot::Output).hooks.empty());
}

void CellExplainer::addContribution(CellExplanation& cell, bool reachesStream) const {
    for (float value : cell.v) cell.contribution.push_back(cell.probability * value);
    if (!reachesStream) return;
    const std::vector<float> output =
        model_.store().read(parameterName(model_.store(), model_.info().structure, cell.site, "W_O")); // [C, H*D]
    const size_t D = cell.v.size(), width = static_cast<size_t>(model_.info().site(cell.site).heads) * D;
    for (size_t c = 0; c < output.size() / width; ++c)
        cell.residualContribution.push_back(static_cast<float>(
            dotOf(std::span(output).subspan(c * width + static_cast<size_t>(cell.head) * D, D), cell.contribution)));
}

} // namespace

CellExplanation explainCell(LanguageModel& model, const CellRequest& asked) {
    const ModelInfo& info = model.info();
    const auto count = static_cast<int>(model.tokens().size());
    const auto isIn = [](int at, int end) { return at >= 0 && at < end; };
    const bool isThere = isIn(asked.site, info.siteCount()) && isIn(asked.head, info.site(asked.site).heads) &&
                         isIn(asked.query, model.queryCount(asked.site)) && isIn(asked.key, model.keyCount(asked.site));
    if (!isThere)
        throw Error({.what = fmt::format("there is no cell ({}, {}) in layer {}, head {}", asked.query, asked.key,
                                         asked.site, asked.head),
                     .where = model.info().name,
                     .hint = fmt::format("the model has {} layers of {} heads and the text has {} tokens",
                                         model.info().layers, model.info().heads, count)});
    CellExplanation cell{.site = asked.site, .head = asked.head};
    const HeadCounts counts = model.attentionOf(cell.site).heads();
    cell.keyValueHead = cell.head / static_cast<int>(counts.heads / counts.groups);
    cell.query = asked.query;
    cell.key = asked.key;
    if (const auto row = model.changedRow(cell.site, cell.head, cell.query); !row.empty()) {
        cell.remark = "a change sets this row of the pattern";
        cell.displayed = cell.key < static_cast<int>(row.size()) ? row[static_cast<size_t>(cell.key)] : 0;
        return cell;
    }
    CellExplainer(model).explain(cell);
    return cell;
}

} // namespace attn
