#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"

// Sums over the channels of a chunk of rows of a selective state space: one number of dInto and of dOutOf per invocation.
//
// Flat grid of B count padded N.
layout(push_constant) uniform Push { uint sequences, vectors, rows, begin, count, states, chunk, hasLengths; };
INPUT4(1, x);
INPUT4(2, step_);
INPUT4(3, dy);
INPUT4(4, kept); // [B, 2 chunk, N, W]: states after each row, then derivatives by them
INPUT_I(5, lengths);
OUTPUT_F(6, dInto);
OUTPUT_F(7, dOutOf);

void main() {
    const uint stride = (states + 3) / 4 * 4, n = FLAT_INDEX % stride, t = FLAT_INDEX / stride % count, b = FLAT_INDEX / stride / count;
    if (b >= sequences) return;
    const uint row = b * rows + begin + t, own = (b * 2 * chunk + t) * states + n;
    float byIn = 0.0, byOut = 0.0;
    const bool counts = hasLengths == 0u || int(begin + t) < lengths[b];
    for (uint v = 0; v < (n < states && counts ? vectors : 0u); ++v) {
        const uint at = row * vectors + v;
        byOut += dot(LOAD4(dy, at), LOAD4(kept, own * vectors + v));
        byIn += dot(LOAD4(step_, at) * LOAD4(x, at), LOAD4(kept, (own + chunk * states) * vectors + v));
    }
    dInto[row * stride + n] = byIn;
    dOutOf[row * stride + n] = byOut;
}
