#pragma once

#include "engine/graph/graph.h"

#include <vector>

namespace attn {

/// How a kernel moves along an axis, and how many zeros lie before and after what it reads.
struct ConvolutionAxis {
    int64_t stride = 1, dilation = 1;
    int64_t before = 0, after = 0;

    /// Zeros before the first row alone, so that row t of the result reads rows up to t. @param taps of the kernel
    static ConvolutionAxis causal(int64_t taps, int64_t dilation = 1) {
        return {.dilation = dilation, .before = (taps - 1) * dilation};
    }
};

/// Correlates rows of channels with a kernel along one axis, or along two, in PyTorch's form:
/// result[b,t,o] = bias[o] + the sum over k and c of w[o,c,k] x[b, t stride + k dilation - before, c], where c runs
/// over the channels of the group of o. Zeros lie outside of x. A step of a causal convolution continues from the step
/// before it if x begins with the last (K - 1) dilation rows of that step, in place of the zeros.
/// @param x      [B,T,C], or [B,Y,X,C] for two axes
/// @param w      [O, C / groups, K], or [O, C / groups, KY, KX]
/// @param bias   [O]; null for none
/// @param axes   one for each axis of the kernel, Y before X
/// @param groups into which the channels of x and of the result fall, in order; a group reads only its own channels, so
///               with as many groups as channels each reads itself alone (depthwise)
/// @return [B,T',O] or [B,Y',X',O]; x, w and the bias have gradients
/// @throws Error if the shapes do not fit or the kernel is longer than the padded axis
Tensor convolve(Tensor x, Tensor w, Tensor bias, const std::vector<ConvolutionAxis>& axes, int64_t groups = 1);

} // namespace attn
