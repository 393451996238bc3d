#include "engine/training/adapters.h"

#include "engine/core/error.h"
#include "engine/core/globs.h"
#include "engine/core/rng.h"
#include "engine/ops/tensor_ops.h"
#include "engine/training/forward_copy.h"
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

Tensor Adapter::addedTo(Tensor w, double scale) const {
    return add(w, batchedMatmul(w.graph->parameter(nameOfB(), shapeOfB()), w.graph->parameter(nameOfA(), shapeOfA()),
                                {.scale = scale}));
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
    const auto graph = std::make_shared<Graph>();
    return copyOf(std::move(forward), graph, [&](const Node& node) {
        const Tensor w = sourceLike(node, *graph);
        const auto adapter = std::ranges::find(adapters, node.name, &Adapter::matrix);
        return adapter == adapters.end() ? w : adapter->addedTo(w, scale);
    });
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
