#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"

// A chunk of rows of a selective state space: four channels of a sequence per invocation, with all their states. The next launch goes on
// from the states that this one leaves.
//
// Flat grid of B vectors.
layout(constant_id = 0) const uint N = 1;
layout(constant_id = 1) const uint CHUNK = 32;
layout(push_constant) uniform Push { uint sequences, vectors, rows, chunk, chunks, hasLengths; };
INPUT4(1, x);
INPUT4(2, step_);
INPUT4(3, decay); // [N,W]
INPUT_F(4, in_);  // [B,T,N]
INPUT_F(5, out_);
INPUT4(6, state); // [B,N,W]
INPUT_I(7, lengths);
OUTPUT4(8, y);
OUTPUT4(9, last);
layout(std430, binding = 10) buffer StatesBuffer { vec4 states[]; }; // [B,chunks,N,W]

void main() {
    const uint v = FLAT_INDEX % vectors, b = FLAT_INDEX / vectors, stride = (N + 3) / 4 * 4;
    if (b >= sequences) return;
    const uint own = (b * chunks + chunk) * N * vectors + v, count = hasLengths == 1u ? uint(max(lengths[b], 0)) : rows;
    vec4 h[N];
    for (uint n = 0; n < N; ++n) {
        h[n] = chunk == 0 ? LOAD4(state, (b * N + n) * vectors + v) : states[own + n * vectors];
        if (chunk == 0) states[own + n * vectors] = h[n];
    }
    for (uint t = chunk * CHUNK; t < min((chunk + 1) * CHUNK, rows); ++t) {
        const uint row = b * rows + t, at = row * vectors + v;
        vec4 sum = vec4(0.0);
        if (t < count) {
            const vec4 dt = LOAD4(step_, at), entering = dt * LOAD4(x, at);
            for (uint n = 0; n < N; ++n) {
                h[n] = exp(dt * LOAD4(decay, n * vectors + v)) * h[n] + entering * in_[row * stride + n];
                sum += out_[row * stride + n] * h[n];
            }
        }
        y[at] = sum;
    }
    for (uint n = 0; n < N; ++n) {
        if (chunk + 1 == chunks)
            last[(b * N + n) * vectors + v] = h[n];
        else
            states[own + (N + n) * vectors] = h[n];
    }
}
