#pragma once

#include "engine/graph/graph.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace attn {

/// A function whose input can be computed from its output: (a, b) -> (b, a + f(b)).
struct Reversible {
    Tensor input, output;
    Tensor argument; ///< the input of f: b
    Tensor result;   ///< f(b)
    /// Computes the input. @param f adds the nodes of f to the graph again, for another argument
    Tensor (*undo)(Tensor output, const std::function<Tensor(Tensor argument)>& f) = nullptr;
};

/// Nodes whose values the backward pass computes again instead of keeping them from the forward pass.
/// @source Chen et al. 2016, arXiv:1604.06174, section 4.1; Gomez et al. 2017, arXiv:1707.04585, section 3
struct Recomputed {
    NodeRange nodes;
    /// Set: the input of the nodes is computed from their output, and nothing of them is kept. Else it is kept.
    std::optional<Reversible> reversible{};
};

struct GradientOptions {
    std::span<const Recomputed> recomputed{}; ///< disjoint or in one another; each ends at another node
    bool isForTraining = true;                ///< false: the gradient also flows through stopLearning()
};

/// Adds d loss / d source for every source to the graph, by reverse-mode differentiation.
/// @param loss    one element
/// @param sources any tensors of the graph, usually parameters
/// @return one tensor per source, of its shape; null if the loss does not depend on it
/// @throws Error if the loss flows through an op that has no gradient
std::vector<Tensor> gradient(Tensor loss, std::span<const Tensor> sources, const GradientOptions& options = {});

/// x, through which nothing is learned: training sends no gradient into it. Analyses ask how the result depends on x,
/// so for them the gradient flows. Free.
Tensor stopLearning(Tensor x);

} // namespace attn
