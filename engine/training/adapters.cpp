#include "engine/training/adapters.h"

#include "engine/core/error.h"
#include "engine/core/globs.h"
#include "engine/core/rng.h"
#include "engine/ops/tensor_ops.h"
#include "engine/training/starting_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

/// Whether a parameter is a matrix of a linear map, such as "blocks.0.attn.W_Q".
bool isLinear(const std::string& name, const Shape& shape) {
    return shape.rank() == 2 && name.compare(name.rfind('.') + 1, 2, "W_") == 0;
}

} // namespace

std::vector<float> Adapter::initialA(uint64_t seed) const {
    std::vector<float> values(static_cast<size_t>(shapeOfA().elements()));
    const double bound = 1 / std::sqrt(static_cast<double>(shape[1]));
    const uint64_t key = streamSeed(seed, nameOfA());
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(bound * (2 * uniform(key, i) - 1));
    return values;
}

std::vector<Adapter> adaptersOf(const LowRankAdapters& recipe,
                                std::span<const std::pair<std::string, Shape>> parameters,
                                std::span<const std::string> blocks) {
    std::vector<Adapter> adapters;
    if (recipe.rank == 0) return adapters;
    const std::vector<std::string> globs = splitAtCommas(recipe.matrices);
    std::vector<std::string> names;
    for (const auto& [name, shape] : parameters) {
        if (blockOf(blocks, name) < 0 || !isLinear(name, shape)) continue;
        names.push_back(name);
        if (std::ranges::any_of(globs, [&name = name](const std::string& glob) { return matchesGlob(glob, name); }))
            adapters.push_back({.matrix = name, .shape = shape, .rank = recipe.rank});
    }
    for (const std::string& glob : globs)
        if (std::ranges::none_of(names, [&](const std::string& name) { return matchesGlob(glob, name); }))
            throw Error({.what = fmt::format("no matrix of the model matches \"{}\"", glob),
                         .where = "recipe: lora_matrices",
                         .hint = fmt::format("choose from: {}", kindsOf(names, blocks))});
    for (const Adapter& adapter : adapters)
        if (const int64_t most = std::min(adapter.shape[0], adapter.shape[1]); adapter.rank > most)
            throw Error({.what = fmt::format("a rank of {} is larger than that of {}, a matrix of {} x {}",
                                             adapter.rank, adapter.matrix, adapter.shape[0], adapter.shape[1]),
                         .where = "recipe: lora_rank",
                         .hint = fmt::format("choose a rank of at most {}, or other matrices", most)});
    return adapters;
}

Objective::Forward withAdapters(Objective::Forward forward, std::span<const Adapter> adapters, double scale) {
    if (adapters.empty()) return forward;
    const Graph& from = *forward.graph;
    const auto graph = std::make_shared<Graph>();
    std::vector<Tensor> copies;  // of each node's first output
    std::vector<uint32_t> first; // node of the new graph that each node's copy begins with
    const auto copied = [&](Tensor tensor) { return Tensor{graph.get(), copies[tensor.node].node, tensor.output}; };
    for (uint32_t id = 0; id < from.size(); ++id) {
        const Node& node = from.node(id);
        first.push_back(graph->size());
        if (node.kind == NodeKind::Operation) {
            std::vector<Tensor> inputs;
            std::ranges::transform(node.inputs, std::back_inserter(inputs), copied);
            copies.push_back(graph->add(*node.op, std::move(inputs), node.attributes, node.name));
        } else if (node.kind == NodeKind::Parameter) {
            const Tensor w = graph->parameter(node.name, node.outputs[0].shape);
            const auto adapter = std::ranges::find(adapters, node.name, &Adapter::matrix);
            copies.push_back(adapter == adapters.end()
                                 ? w
                                 : add(w, batchedMatmul(graph->parameter(adapter->nameOfB(), adapter->shapeOfB()),
                                                        graph->parameter(adapter->nameOfA(), adapter->shapeOfA()),
                                                        {.scale = scale})));
        } else {
            copies.push_back(node.kind == NodeKind::Input ? graph->input(node.name, node.outputs[0])
                                                          : graph->state(node.name, node.outputs[0]));
        }
    }
    first.push_back(graph->size());
    forward.logits = copied(forward.logits);
    const auto moved = [&](NodeRange nodes) { return NodeRange{.first = first[nodes.first], .end = first[nodes.end]}; };
    for (NodeRange& block : forward.blocks) block = moved(block);
    for (auto& [nodes, reversible] : forward.partTensors.recomputed) {
        nodes = moved(nodes);
        if (!reversible) continue;
        for (Tensor* each : {&reversible->input, &reversible->output, &reversible->argument, &reversible->result})
            *each = copied(*each);
    }
    for (Tensor& penalty : forward.partTensors.penalties) penalty = copied(penalty);
    for (auto& [name, next] : forward.partTensors.averages) next = copied(next);
    forward.graph = graph;
    return forward;
}

void addProduct(const Adapter& adapter, double scale, std::span<float> w, std::span<const float> a,
                std::span<const float> b) {
    const auto columns = static_cast<size_t>(adapter.shape[1]), rank = static_cast<size_t>(adapter.rank);
    std::vector<double> row(columns);
    for (size_t i = 0; i < static_cast<size_t>(adapter.shape[0]); ++i) {
        std::ranges::fill(row, 0.0);
        for (size_t r = 0; r < rank; ++r)
            for (size_t j = 0; j < columns; ++j)
                row[j] += static_cast<double>(b[i * rank + r]) * static_cast<double>(a[r * columns + j]);
        for (size_t j = 0; j < columns; ++j)
            w[i * columns + j] = static_cast<float>(static_cast<double>(w[i * columns + j]) + scale * row[j]);
    }
}

} // namespace attn
