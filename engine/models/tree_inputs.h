#pragma once

#include "engine/attention/position/dependency_tree.h"
#include "engine/models/decoder.h"

#include <cstdint>
#include <span>
#include <string>

namespace attn {

/// Writes the trees of texts into the inputs of a graph of buildDecoder(), if it reads them.
/// @param executor with hasInput() and inputIntegers()  @param first of its tokens in each text
/// @param trees one for each sequence of the graph
template <class Executor> void writeTrees(Executor& executor, int64_t first, std::span<const DependencyTree> trees) {
    const auto input = [&](const char* name) {
        return executor.hasInput(name) ? executor.inputIntegers(name) : std::span<int32_t>{};
    };
    const auto depths = input(decoder_names::kTreeDepths), relations = input(decoder_names::kTreeRelations);
    if (depths.empty() && relations.empty()) return;
    const auto tokens = std::ssize(executor.inputIntegers(decoder_names::kTokens)) / std::ssize(trees);
    const auto part = [&](std::span<int32_t> all, size_t of) {
        const size_t each = all.size() / trees.size();
        return all.subspan(of * each, each);
    };
    for (size_t text = 0; text < trees.size(); ++text)
        trees[text].write(first, tokens, part(depths, text), part(relations, text));
}

} // namespace attn
