#pragma once

#include "engine/host/pool.h"

#include <cstdint>

// Convolutions over grids of rows of channels, of one or of two axes, and their gradients.

namespace attn::host {

/// How a kernel moves along an axis. Output i reads inputs i * stride + k * dilation - before, k from 0 to taps - 1;
/// those outside are zeros.
struct ConvolvedAxis {
    int64_t input = 1, output = 1;
    int64_t taps = 1, stride = 1, dilation = 1, before = 0;

    int64_t inputOf(int64_t place, int64_t tap) const { return place * stride + tap * dilation - before; }
    /// The outputs whose tap lies inside: first to end - 1.
    int64_t firstOutput(int64_t tap) const {
        const int64_t least = before - tap * dilation; // output * stride must be at least this
        return least <= 0 ? 0 : (least + stride - 1) / stride;
    }
    int64_t endOutput(int64_t tap) const {
        const int64_t most = input - 1 + before - tap * dilation;
        return most < 0 ? 0 : most / stride + 1 < output ? most / stride + 1 : output;
    }
};

/// x [B,y,x,C] and weights [taps, C / groups, O] give [B,y,x,O]. The channels of x and of the result fall into as many
/// groups; those of a group read only those of the same one.
struct Convolution {
    int64_t B = 0, C = 0, O = 0, groups = 1;
    ConvolvedAxis y, x;

    int64_t taps() const { return y.taps * x.taps; }
    int64_t groupC() const { return C / groups; }
    int64_t groupO() const { return O / groups; }
    bool isDepthwise() const { return groups == C && groups == O; } ///< a channel reads only itself
    int64_t strideC() const { return (C + 3) / 4 * 4; }
    int64_t strideO() const { return (O + 3) / 4 * 4; }
};

/// @param bias [O]; null for none
void convolve(const Convolution& of, const float* x, const float* weights, const float* bias, float* result,
              Pool& pool);
void convolveInputGradient(const Convolution& of, const float* d, const float* weights, float* dx, Pool& pool);
void convolveWeightGradient(const Convolution& of, const float* x, const float* d, float* dWeights, Pool& pool);

} // namespace attn::host
