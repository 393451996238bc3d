#include "engine/analysis/token_flow.h"

#include "engine/analysis/attention_rollout.h"
#include "engine/core/error.h"
#include "engine/inference/language_model.h"
#include "engine/models/hook_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>

namespace attn {
namespace {

/// Dinic's algorithm on the graph of the tokens of all layers.
class FlowNetwork {
public:
    explicit FlowNetwork(size_t nodes) : edges_(nodes) {}

    void connect(size_t from, size_t to, double capacity) {
        edges_[from].push_back({to, edges_[to].size(), capacity, capacity});
        edges_[to].push_back({from, edges_[from].size() - 1, 0, 0});
    }

    double maximum(size_t from, size_t to) {
        for (auto& edges : edges_)
            for (Edge& edge : edges) edge.left = edge.capacity;
        double total = 0;
        while (number(from, to)) {
            next_.assign(edges_.size(), 0);
            while (const double pushed = push(from, to, std::numeric_limits<double>::infinity())) total += pushed;
        }
        return total;
    }

private:
    static constexpr double kNothing = 1e-12;
    struct Edge {
        size_t to, back;
        double capacity, left;
    };

    bool number(size_t from, size_t to) {
        level_.assign(edges_.size(), -1);
        level_[from] = 0;
        std::deque<size_t> queue{from};
        while (!queue.empty()) {
            const size_t node = queue.front();
            queue.pop_front();
            for (const Edge& edge : edges_[node])
                if (edge.left > kNothing && level_[edge.to] < 0) {
                    level_[edge.to] = level_[node] + 1;
                    queue.push_back(edge.to);
                }
        }
        return level_[to] >= 0;
    }

    double push(size_t node, size_t to, double most) {
        if (node == to) return most;
        for (size_t& i = next_[node]; i < edges_[node].size(); ++i) {
            Edge& edge = edges_[node][i];
            if (edge.left <= kNothing || level_[edge.to] != level_[node] + 1) continue;
            const double pushed = push(edge.to, to, std::min(most, edge.left));
            if (pushed <= 0) continue;
            edge.left -= pushed;
            edges_[edge.to][edge.back].left += pushed;
            return pushed;
        }
        return 0;
    }

    std::vector<std::vector<Edge>> edges_;
    std::vector<int> level_;
    std::vector<size_t> next_;
};

} // namespace

std::vector<double> maximumFlows(std::span<const std::vector<float>> maps, int tokens, int query) {
    const auto T = static_cast<size_t>(tokens), layers = maps.size();
    std::vector<double> flows;
    FlowNetwork network((layers + 1) * T);
    for (size_t layer = 0; layer < layers; ++layer)
        for (size_t above = 0; above < T; ++above)
            for (size_t below = 0; below < T; ++below)
                if (const float weight = maps[layer][above * T + below]; weight > 0)
                    network.connect((layer + 1) * T + above, layer * T + below, static_cast<double>(weight));
    for (size_t token = 0; token < T; ++token)
        flows.push_back(network.maximum(layers * T + static_cast<size_t>(query), token));
    return flows;
}

std::shared_ptr<AnalysisResult> TokenFlowAnalysis::run(RunningModel& running, const AnalysisContext& context) const {
    LanguageModel& model = languageModel(running);
    const auto T = static_cast<int64_t>(context.input.tokens().size());
    auto result = std::make_shared<TokenFlow>();
    result->query = query < 0 ? static_cast<int>(T) - 1 : query;
    if (result->query < 0 || result->query >= T)
        throw Error({.what = fmt::format("there is no token {}", result->query),
                     .where = "query",
                     .hint = "choose a token of the prompt"});
    std::vector<SitePattern> patterns;
    for (auto& hook : model.capture(context.input, inEveryBlock("attn.hook_pattern")))
        patterns.push_back(
            {.layout = {.tokens = T}, .heads = static_cast<int>(hook.shape[0]), .values = std::move(hook.values)});
    const auto rowOf = [&](const std::vector<float>& map) {
        return std::span(map).subspan(static_cast<size_t>(result->query * T), static_cast<size_t>(T));
    };
    const TokenMap rolled = attentionRollout(patterns);
    const auto row = rowOf(rolled.values);
    result->rollout.assign(row.begin(), row.end());
    if (T > TokenFlow::kMostTokens) return result;
    std::vector<std::vector<float>> maps; // one per layer, with its skip connection
    for (const SitePattern& pattern : patterns) maps.push_back(attentionRollout(std::span(&pattern, 1)).values);
    if (context.report) context.report(0.5f, "flows");
    const std::vector<double> flows = maximumFlows(maps, static_cast<int>(T), result->query);
    const double total = std::accumulate(flows.begin(), flows.end(), 0.0);
    for (double flow : flows) result->flow.push_back(static_cast<float>(total > 0 ? flow / total : 0));
    return result;
}

} // namespace attn
