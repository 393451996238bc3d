#pragma once

#include "engine/ops/ops.h"

#include <span>
#include <vector>

// Losses and updates: what training adds to a model's graph.

namespace attn {

/// -weights[m] * ((1 - smoothing) log p[m, target] + smoothing * mean over V of log p[m]); 0 where the target is
/// negative.
/// @param logits [...,V]  @param targets I32 [M], M the rows of the logits  @param weights [M]: 1 / count for a mean
/// @return [M]
/// @source Szegedy et al. 2016, arXiv:1512.00567, section 7 (label smoothing)
Tensor crossEntropy(Tensor logits, Tensor targets, Tensor weights, double smoothing = 0);

/// Zeroes elements with probability `rate` and scales the others by 1 / (1 - rate); which ones, depends on the seed,
/// the step, the site and the element alone. @source Srivastava et al. 2014, JMLR 15
Tensor dropout(Tensor x, double rate, uint32_t site);

/// Sums of squares of every tensor, in parts that add up. @return [tensors, parts]
Tensor squareNorms(std::span<const Tensor> tensors);
/// @param squares of squareNorms  @param maximum 0: never clips
struct Clip {
    Tensor norm;   ///< [1], before clipping
    Tensor factor; ///< [1], min(1, maximum / norm)
};
Clip clipFactor(Tensor squares, double maximum);

// Updates of many tensors in place, several to a dispatch: the rate and corrections come from StepParams. They return
// all states after the update: request any of them when compiling.

struct AdamOptions {
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    double decay = 0;        ///< of matrices; tensors of one axis (norms, biases) have none
    bool isDecoupled = true; ///< AdamW's decay; else added to the gradient
};
/// @param states    parameter, moment and variance of every tensor in turn
/// @param gradients one per tensor; factor * gradient counts
/// @source Kingma and Ba 2015, arXiv:1412.6980; Loshchilov and Hutter 2019, arXiv:1711.05101
std::vector<Tensor> adamUpdate(std::span<const Tensor> states, std::span<const Tensor> gradients, Tensor factor,
                               const AdamOptions& options);
/// @param states parameter and velocity of every tensor in turn  @param decay as in AdamOptions
/// @source Sutskever et al. 2013 (momentum), in PyTorch's form
std::vector<Tensor> sgdUpdate(std::span<const Tensor> states, std::span<const Tensor> gradients, Tensor factor,
                              double momentum, double decay);
/// state + gradient, but the gradient alone in micro-step 0.
std::vector<Tensor> accumulate(std::span<const Tensor> states, std::span<const Tensor> gradients);

} // namespace attn
