#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"

// For each group the sum over its rows of a^T b: one number per invocation, over a part of the rows.
layout(push_constant) uniform Push { uint numbers, N, K, first, end; };
INPUT_F(1, a); // [rows,N]
INPUT_F(2, b); // [rows,K]
INPUT_I(3, begins);
layout(std430, binding = 4) buffer ResultBuffer { float result[]; }; // [groups,N,K]

uint padded(uint columns) { return (columns + 3) / 4 * 4; }

void main() {
    const uint at = FLAT_INDEX, k = at % padded(K), n = at / padded(K) % N, group = at / padded(K) / N;
    if (at >= numbers) return;
    float sum = first > 0 ? result[at] : 0.0;
    const int last = min(begins[group + 1], int(end));
    for (int row = max(begins[group], int(first)); row < (k < K ? last : 0); ++row)
        sum += a[row * padded(N) + n] * b[row * padded(K) + k];
    result[at] = sum;
}
