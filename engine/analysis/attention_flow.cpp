#include "engine/analysis/attention_flow.h"

#include <algorithm>
#include <deque>
#include <limits>

namespace attn {
namespace {

/// Dinic's algorithm on the graph of the rows of all layers.
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

std::vector<double> maximumFlows(std::span<const TokenMap> maps, std::span<const double> ends) {
    size_t nodes = 1;
    if (!maps.empty()) nodes += static_cast<size_t>(maps.front().columns.tokens);
    for (const TokenMap& map : maps) nodes += static_cast<size_t>(map.rows.tokens);
    FlowNetwork network(nodes);
    size_t below = 0;
    for (const TokenMap& map : maps) {
        const auto rows = static_cast<size_t>(map.rows.tokens), columns = static_cast<size_t>(map.columns.tokens);
        for (size_t row = 0; row < rows; ++row)
            for (size_t column = 0; column < columns; ++column)
                if (const float weight = map.values[row * columns + column]; weight > 0)
                    network.connect(below + columns + row, below + column, static_cast<double>(weight));
        below += columns;
    }
    for (size_t row = 0; row < ends.size(); ++row)
        if (ends[row] > 0) network.connect(nodes - 1, below + row, ends[row]);
    std::vector<double> flows;
    const int64_t inputs = maps.empty() ? 0 : maps.front().columns.tokens;
    for (int64_t token = 0; token < inputs; ++token)
        flows.push_back(network.maximum(nodes - 1, static_cast<size_t>(token)));
    return flows;
}

} // namespace attn
