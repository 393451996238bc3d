#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"

// Rows times the matrix of their group: one number of the result per invocation.
layout(constant_id = 0) const uint IS_PLAIN = 0; // w is [groups,K,N] instead of [groups,N,K]
layout(push_constant) uniform Push { uint rows, K, N, groups; };
INPUT_F(1, x);
INPUT_F(2, w);
INPUT_I(3, begins);
OUTPUT_F(4, result);

uint padded(uint columns) { return (columns + 3) / 4 * 4; }

void main() {
    const uint at = FLAT_INDEX, row = at / padded(N), n = at % padded(N);
    if (row >= rows) return;
    float sum = 0.0;
    uint group = 0;
    while (group < groups && !(int(row) >= begins[group] && int(row) < begins[group + 1])) ++group;
    if (group < groups && n < N)
        for (uint k = 0; k < K; ++k)
            sum += x[row * padded(K) + k] * w[IS_PLAIN == 1u ? (group * K + k) * padded(N) + n : (group * N + n) * padded(K) + k];
    result[at] = sum;
}
