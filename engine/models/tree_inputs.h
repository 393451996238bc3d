#pragma once

#include "engine/attention/position/dependency_tree.h"
#include "engine/models/model_builder.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

namespace attn {

/// Writes the trees of texts into the inputs of a graph of buildModel(), if it reads them.
/// @param executor with hasInput(), inputIntegers() and plan()  @param first of its tokens in each text
/// @param trees one for each sequence of the graph
template <class Executor> void writeTrees(Executor& executor, int64_t first, std::span<const DependencyTree> trees) {
    const auto extent = [&](const char* name) { // without the padding that inputIntegers() has
        const auto& tensors = executor.plan().tensors;
        return static_cast<size_t>(
            std::ranges::find(tensors, name, [](const auto& tensor) { return tensor.name; })->type.shape.elements());
    };
    const auto input = [&](const char* name) {
        return executor.hasInput(name) ? executor.inputIntegers(name).first(extent(name)) : std::span<int32_t>{};
    };
    const auto depths = input(decoder_names::kTreeDepths), relations = input(decoder_names::kTreeRelations);
    if (depths.empty() && relations.empty()) return;
    const auto tokens = static_cast<int64_t>(extent(decoder_names::kTokens) / trees.size());
    const auto part = [&](std::span<int32_t> all, size_t of) {
        const size_t each = all.size() / trees.size();
        return all.subspan(of * each, each);
    };
    for (size_t text = 0; text < trees.size(); ++text)
        trees[text].write(first, tokens, part(depths, text), part(relations, text));
}

} // namespace attn
