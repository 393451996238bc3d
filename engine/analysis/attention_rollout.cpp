#include "engine/analysis/attention_rollout.h"

#include "engine/analysis/attention_flow.h"
#include "engine/analysis/text_rows.h"
#include "engine/analysis/whole_run.h"
#include "engine/core/error.h"
#include "engine/inference/pattern_gradients.h"
#include "engine/models/hook_names.h"
#include "engine/ops/tensor_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace attn {
namespace {

/// [cells] in the order of LayerLayout::forRows().
std::vector<float> fused(const SitePattern& pattern, HeadFusion fusion) {
    std::vector<float> map(static_cast<size_t>(pattern.layout.cells()));
    for (size_t cell = 0; cell < map.size(); ++cell)
        map[cell] = pattern.values[pattern.at(0, static_cast<int64_t>(cell))];
    for (int head = 1; head < pattern.heads; ++head)
        for (size_t cell = 0; cell < map.size(); ++cell) {
            float& sum = map[cell];
            const float weight = pattern.values[pattern.at(head, static_cast<int64_t>(cell))];
            sum = fusion == HeadFusion::Mean      ? sum + weight
                  : fusion == HeadFusion::Maximum ? std::max(sum, weight)
                                                  : std::min(sum, weight);
        }
    if (fusion == HeadFusion::Mean)
        for (float& weight : map) weight /= static_cast<float>(pattern.heads);
    return map;
}

/// Sets the lowest cells to 0; among equal cells, the first ones.
void discardLowest(std::vector<float>& map, double share) {
    const auto count = static_cast<size_t>(share * static_cast<double>(map.size()));
    std::vector<size_t> order(map.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                     [&](size_t a, size_t b) { return map[a] != map[b] ? map[a] < map[b] : a < b; });
    for (size_t i = 0; i < count; ++i) map[order[i]] = 0;
}

/// Adds the skip connection, then scales the weights on tokens so that each row sums to 1.
void addResidual(std::vector<float>& map, const LayerLayout& layout) {
    layout.forRows([&](int64_t query, int64_t first, std::span<const int32_t> keys) {
        float* cells = map.data() + first;
        double sum = 0;
        for (size_t i = 0; i < keys.size(); ++i) {
            if (keys[i] == query) cells[i] += 1;
            if (keys[i] >= 0) sum += static_cast<double>(cells[i]);
        }
        if (sum == 0) return; // a query that sees nothing, itself included
        for (size_t i = 0; i < keys.size(); ++i) cells[i] = static_cast<float>(cells[i] / sum);
    });
}

/// @param map of one layer  @param flow [T, columns]  @return [T, columns]
std::vector<float> productOf(const std::vector<float>& map, const LayerLayout& layout, const std::vector<float>& flow,
                             int64_t columns) {
    std::vector<float> result(flow.size(), 0);
    layout.forRows([&](int64_t query, int64_t first, std::span<const int32_t> keys) {
        float* to = result.data() + query * columns;
        for (size_t i = 0; i < keys.size(); ++i) {
            const float weight = map[static_cast<size_t>(first) + i];
            if (weight == 0 || keys[i] < 0) continue;
            const float* from = flow.data() + keys[i] * columns;
            for (int64_t column = 0; column < columns; ++column) to[column] += weight * from[column];
        }
    });
    return result;
}

bool isOther(const LayerLayout& a, const LayerLayout& b) { return a.tokens != b.tokens || a.tokenOf != b.tokenOf; }

/// Converts rows of the tokens of a layer to those of the next layer: the mean over the patches of each token.
void carry(TokenMap& flow, const LayerLayout& next) {
    if (isOther(flow.rows, next)) {
        const int64_t columns = flow.columns.tokens;
        std::vector<float> rows(static_cast<size_t>(next.tokens * columns), 0);
        std::vector<float> members(static_cast<size_t>(next.tokens), 0);
        const auto add = [&](int64_t from, int64_t to) {
            ++members[static_cast<size_t>(to)];
            for (int64_t column = 0; column < columns; ++column)
                rows[static_cast<size_t>(to * columns + column)] +=
                    flow.values[static_cast<size_t>(from * columns + column)];
        };
        for (int64_t token = 0; token < next.prefix; ++token) add(token, token);
        for (size_t patch = 0; patch < next.tokenOf.size(); ++patch) add(flow.rows.tokenOf[patch], next.tokenOf[patch]);
        for (int64_t token = 0; token < next.tokens; ++token)
            if (const float count = members[static_cast<size_t>(token)]; count > 0)
                for (int64_t column = 0; column < columns; ++column)
                    rows[static_cast<size_t>(token * columns + column)] /= count;
        flow.values = std::move(rows);
    }
    flow.rows = next;
}

/// The identity on the tokens of the first layer.
TokenMap identity(const LayerLayout& layout) {
    TokenMap map{layout, layout, std::vector<float>(static_cast<size_t>(layout.tokens * layout.tokens), 0)};
    for (int64_t token = 0; token < layout.tokens; ++token)
        map.values[static_cast<size_t>(token * layout.tokens + token)] = 1;
    return map;
}

/// @param shares [rows]  @return [columns] the sum of the map's rows, weighted with the shares
std::vector<float> sumOf(const TokenMap& map, std::span<const double> shares) {
    std::vector<float> sums;
    for (int64_t column = 0; column < map.columns.tokens; ++column) {
        double sum = 0;
        for (size_t row = 0; row < shares.size(); ++row)
            sum += shares[row] *
                   static_cast<double>(
                       map.values[row * static_cast<size_t>(map.columns.tokens) + static_cast<size_t>(column)]);
        sums.push_back(static_cast<float>(sum));
    }
    return sums;
}

/// One map per site over the rows of both streams. Rows that a site does not write keep their values.
std::vector<TokenMap> jointSteps(const ModelStructure& structure, const TextRows& rows,
                                 std::span<const SitePattern> patterns, const RolloutOptions& options) {
    std::vector<TokenMap> steps;
    const LayerLayout joint{.tokens = static_cast<int64_t>(rows.all())};
    for (size_t site = 0; site < patterns.size(); ++site) {
        const Site& at = structure.sites[site];
        const SitePattern& pattern = patterns[site];
        pattern.requireWhole();
        TokenMap& step = steps.emplace_back(identity(joint));
        std::vector<float> map = fused(pattern, options.fusion);
        discardLowest(map, options.discard);
        const size_t firstQuery = rows.first(at.queryStream), firstKey = rows.first(at.keyStream);
        pattern.layout.forRows([&](int64_t query, int64_t first, std::span<const int32_t> keys) {
            float* row = step.values.data() + (firstQuery + static_cast<size_t>(query)) * rows.all();
            double sum = 1; // the skip connection
            for (size_t key = 0; key < keys.size(); ++key) {
                const float weight = map[static_cast<size_t>(first) + key];
                row[firstKey + key] += weight;
                sum += static_cast<double>(weight);
            }
            for (size_t column = 0; column < rows.all(); ++column)
                row[column] = static_cast<float>(static_cast<double>(row[column]) / sum);
        });
    }
    return steps;
}

/// The product of maps over the same rows.
TokenMap productOf(std::span<const TokenMap> steps) {
    TokenMap flow = steps.front();
    for (const TokenMap& step : steps.subspan(1)) {
        flow.values = productOf(step.values, step.rows, flow.values, flow.columns.tokens);
        flow.rows = step.rows;
    }
    return flow;
}

} // namespace

LogitGradients logitGradients(RunningModel& model, const Input& input, const LogitTarget& wanted, int row) {
    WholeRun whole(model, input, {.needsGradients = true});
    whole.predictAfter(row);
    const Tensor logit = targetLogit(whole.prediction());
    std::map<std::string, Tensor> outputs{{"logits", whole.prediction()}};
    const std::vector<Tensor> gradients = patternGradients(whole.built(), logit);
    for (size_t layer = 0; layer < gradients.size(); ++layer) {
        if (!gradients[layer])
            throw Error({.what = fmt::format("layer {} forms no pattern", layer),
                         .where = model.info().name,
                         .hint = "gradients need a pattern in every layer"});
        outputs.emplace(siteName(static_cast<int64_t>(layer)), gradients[layer]);
    }
    whole.compile(outputs);
    writeTarget(whole.executor(), {.token = 0});
    whole.run();
    LogitGradients result{.target = resolved(wanted, whole.result("logits"), model.info()), .byLayer = {}};
    writeTarget(whole.executor(), result.target);
    whole.run();
    for (size_t layer = 0; layer < gradients.size(); ++layer) {
        result.byLayer.push_back(whole.result(siteName(static_cast<int64_t>(layer))));
        if (input.isText())
            result.byLayer.back() =
                withoutPadding(result.byLayer.back(), {whole.length(), whole.length()}, whole.tokens(), whole.tokens());
    }
    return result;
}

TokenMap gradientRollout(std::span<const SitePattern> patterns, std::span<const std::vector<float>> gradients) {
    if (gradients.size() != patterns.size())
        throw Error(
            {.what = fmt::format("{} layers have a gradient but {} have a pattern", gradients.size(), patterns.size()),
             .where = "rollout",
             .hint = "give a gradient and a pattern for every layer"});
    if (patterns.empty()) return {};
    TokenMap relevance = identity(patterns.front().layout);
    for (size_t layer = 0; layer < patterns.size(); ++layer) {
        SitePattern weighted = patterns[layer];
        weighted.requireWhole();
        if (gradients[layer].size() != weighted.values.size())
            throw Error({.what = fmt::format("a gradient has {} values but its pattern has {}", gradients[layer].size(),
                                             weighted.values.size()),
                         .where = "rollout",
                         .hint = "give the gradient of each layer's pattern"});
        for (size_t at = 0; at < weighted.values.size(); ++at)
            weighted.values[at] = std::max(0.0f, weighted.values[at] * gradients[layer][at]);
        carry(relevance, weighted.layout);
        const std::vector<float> added =
            productOf(fused(weighted, HeadFusion::Mean), weighted.layout, relevance.values, relevance.columns.tokens);
        for (size_t cell = 0; cell < added.size(); ++cell) relevance.values[cell] += added[cell];
    }
    return relevance;
}

TokenMap attentionRollout(std::span<const SitePattern> patterns, const RolloutOptions& options) {
    if (!(options.discard >= 0 && options.discard < 1))
        throw Error({.what = fmt::format("a share of {} of the cells cannot be discarded", options.discard),
                     .where = "discard",
                     .hint = "choose a share from 0 to below 1"});
    if (patterns.empty()) return {};
    TokenMap flow = identity(patterns.front().layout);
    for (const SitePattern& pattern : patterns) {
        pattern.requireWhole();
        std::vector<float> map = fused(pattern, options.fusion);
        discardLowest(map, options.discard);
        addResidual(map, pattern.layout);
        carry(flow, pattern.layout);
        flow.values = productOf(map, pattern.layout, flow.values, flow.columns.tokens);
    }
    return flow;
}

std::vector<TokenMap> rolloutSteps(std::span<const SitePattern> patterns, const RolloutOptions& options) {
    std::vector<TokenMap> steps;
    for (const SitePattern& pattern : patterns) {
        if (!steps.empty() && isOther(steps.back().rows, pattern.layout)) {
            steps.push_back(identity(steps.back().rows));
            carry(steps.back(), pattern.layout);
        }
        steps.push_back(attentionRollout(std::span(&pattern, 1), options));
    }
    return steps;
}

std::shared_ptr<AnalysisResult> RolloutAnalysis::run(RunningModel& model, const AnalysisContext& context) const {
    const std::vector<SitePattern> own =
        context.patterns ? std::vector<SitePattern>() : wholePatterns(model, context.input);
    const std::vector<SitePattern>& patterns = context.patterns ? *context.patterns : own;
    const auto without = std::ranges::count_if(patterns, [](const auto& pattern) { return pattern.values.empty(); });
    if (without > 0)
        throw Error({.what = fmt::format("{} of {} layers form no pattern", without, patterns.size()),
                     .where = model.info().name,
                     .hint = "choose a model that forms a pattern in every layer"});
    auto result = std::make_shared<Rollout>();
    const LayerLayout& last = patterns.back().layout;
    const bool isText = context.input.isText(), hasTwo = model.info().readsSource;
    if (row >= last.tokens)
        throw Error({.what = fmt::format("there is no token {}", row),
                     .where = "query",
                     .hint = fmt::format("choose a token from 0 to {}", last.tokens - 1)});
    if (target && hasTwo)
        throw Error({.what = "gradients weight the patterns of one stack of layers; this model has two",
                     .where = model.info().name,
                     .hint = "leave out the target, or use the input gradients"});
    result->row = row >= 0          ? row
                  : isText          ? static_cast<int>(model.predictedRow(context.input))
                  : last.prefix > 0 ? 0
                                    : -1;
    std::vector<TokenMap> steps;
    if (target) {
        const LogitGradients gradients = logitGradients(model, context.input, *target, result->row);
        result->target = gradients.target;
        result->map = gradientRollout(patterns, gradients.byLayer);
    } else if (hasTwo) {
        steps = jointSteps(model.info().structure, TextRows(model.info().structure, context.input), patterns, options);
        result->map = productOf(steps);
    } else {
        result->map = attentionRollout(patterns, options);
    }
    const int64_t ending = result->map.rows.tokens, firstOfLast = ending - last.tokens;
    std::vector<double> ends(static_cast<size_t>(ending), result->row < 0 ? 1.0 / static_cast<double>(ending) : 0);
    if (result->row >= 0) ends[static_cast<size_t>(firstOfLast + result->row)] = 1;
    result->ofRow = sumOf(result->map, ends);
    if (!wantsFlow || result->map.columns.tokens > Rollout::kMostFlowing) return result;
    if (context.report) context.report(0.5f, "flows");
    const std::vector<double> flows = maximumFlows(hasTwo ? steps : rolloutSteps(patterns, options), ends);
    const double total = std::accumulate(flows.begin(), flows.end(), 0.0);
    for (const double flow : flows) result->flow.push_back(static_cast<float>(total > 0 ? flow / total : 0));
    return result;
}

std::shared_ptr<const Analysis> RolloutAnalysis::settled(const AnalysisResult& result) const {
    if (!target) return nullptr;
    auto same = std::make_shared<RolloutAnalysis>(*this);
    same->target = static_cast<const Rollout&>(result).target;
    return same;
}

} // namespace attn
