#pragma once

#include "engine/ops/ops.h"

#include <span>
#include <vector>

// Losses and updates, which training adds to a model's graph.

namespace attn {

/// The cross-entropy of each row: -weights[m] * ((1 - smoothing) log p[m, target] + smoothing * mean over V of log
/// p[m]); 0 where the target is negative.
/// @param logits [...,V]  @param targets I32 [M], M the rows of the logits  @param weights [M]: 1 / count for a mean
/// @return [M]
/// @source Szegedy et al. 2016, arXiv:1512.00567, section 7 (label smoothing)
Tensor crossEntropy(Tensor logits, Tensor targets, Tensor weights, double smoothing = 0);

/// Sets elements to zero with probability `rate` and scales the others by 1 / (1 - rate). The choice depends only on
/// the seed, the step, the site and the element. @source Srivastava et al. 2014, JMLR 15
Tensor dropout(Tensor x, double rate, uint32_t site);

/// The sums of squares of every tensor, in parts to be added. @return [tensors, parts]
Tensor squareNorms(std::span<const Tensor> tensors);
struct Clip {
    Tensor norm;   ///< [1], before clipping
    Tensor factor; ///< [1], min(1, maximum / norm); below 0 if overflow is refused and the norm is not finite
};
/// The factor that clips gradients to a total norm. @param squares from squareNorms()  @param maximum 0: never clips
/// @param refusesOverflow whether gradients that are not finite leave out the update
Clip clipFactor(Tensor squares, double maximum, bool refusesOverflow = false);

// Updates of many tensors in place, several per dispatch. The learning rate and the corrections come from StepParams;
// `rateFactor` multiplies the learning rate. The functions return all states after the update; request any of them when
// compiling.

struct AdamOptions {
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    double decay = 0;        ///< weight decay of matrices; tensors of one axis (norms, biases) have none
    bool isDecoupled = true; ///< AdamW's decay; if false, the decay is added to the gradient
    double rateFactor = 1;
};
/// Adam and AdamW.
/// @param states    parameter, moment and variance of each tensor in turn
/// @param gradients one per tensor
/// @param factor    [1]: multiplies every gradient; below 0, all states stay as they are
/// @source Kingma and Ba 2015, arXiv:1412.6980; Loshchilov and Hutter 2019, arXiv:1711.05101
std::vector<Tensor> adamUpdate(std::span<const Tensor> states, std::span<const Tensor> gradients, Tensor factor,
                               const AdamOptions& options);
/// Gradient descent with momentum.
/// @param states parameter and velocity of each tensor in turn
/// @param factor [1]: multiplies every gradient; below 0, all states stay as they are
/// @param decay  as in AdamOptions
/// @source Sutskever et al. 2013 (momentum), in PyTorch's form
std::vector<Tensor> sgdUpdate(std::span<const Tensor> states, std::span<const Tensor> gradients, Tensor factor,
                              double momentum, double decay, double rateFactor = 1);
/// Adds each gradient to its state; in micro-step 0, replaces the state by the gradient.
std::vector<Tensor> accumulate(std::span<const Tensor> states, std::span<const Tensor> gradients);

} // namespace attn
