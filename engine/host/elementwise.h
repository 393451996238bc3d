#pragma once

#include "engine/host/activation.h"

#include <cstdint>

// Kernels on runs of floats. A count may be any, but floats up to the next multiple of 4 must belong to the run.
// Outputs may be the inputs.

namespace attn::host {

void add(int64_t count, const float* a, const float* b, float* out);
void multiply(int64_t count, const float* a, const float* b, float* out);
void scale(int64_t count, float factor, const float* x, float* out);
/// silu(gate) * up
void swiglu(int64_t count, const float* gate, const float* up, float* out);
void swigluGradient(int64_t count, const float* gate, const float* up, const float* dy, float* dGate, float* dUp);
void activate(Activation activation, int64_t count, const float* x, float* out);
/// The activation's derivative at x, times dy.
void activateGradient(Activation activation, int64_t count, const float* x, const float* dy, float* out);

/// The steps after a product of matrices, in this order. Null: the step is absent.
struct Finish {
    const float* bias = nullptr;
    float* argument = nullptr; ///< receives the activation's argument
    Activation activation = Activation::None;
    const float* slopeAt = nullptr; ///< the activation's derivative there is a factor, in place of the activation
    const float* residual = nullptr;
};
/// Finishes `rows` rows of a product in place. The products have the same strides. @param count of floats in a row
void finish(int64_t rows, int64_t count, int64_t stride, float* out, const Finish& finish);

/// The numbers of Adam. @source Kingma and Ba 2014, arXiv:1412.6980; Loshchilov and Hutter 2017, arXiv:1711.05101
struct AdamStep {
    float beta1 = 0, beta2 = 0, epsilon = 0;
    float decay = 0;          ///< of this tensor
    bool isDecoupled = false; ///< the decay acts on the parameter, not on the gradient
    float rate = 0;
    float momentCorrection = 1;   ///< 1 / (1 - beta1^t)
    float varianceCorrection = 1; ///< 1 / sqrt(1 - beta2^t)
    float factor = 1;             ///< of the gradient
};
void adam(const AdamStep& step, int64_t count, const float* gradient, float* parameter, float* moment, float* variance);
/// u = momentum u + factor g + decay p; p -= rate u
void sgd(float momentum, float factor, float decay, float rate, int64_t count, const float* gradient, float* parameter,
         float* moment);
/// The sum of squares.
float squares(int64_t count, const float* x);
/// The sum of all.
float total(int64_t count, const float* x);

} // namespace attn::host
