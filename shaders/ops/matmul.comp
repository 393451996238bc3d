#version 450
#extension GL_GOOGLE_include_directive : require
#include "activation.glsl"
#include "tensor.glsl"

// y[M,N] = act(x[M,K] . w[N,K]^T * scale + bias) + residual. One row and four columns per invocation.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint ACTIVATION = 0;
layout(push_constant) uniform Push {
    uint rows, columns, inner, liveSlot, flags; // flags: 1 bias, 2 residual
    float scale;
};
INPUT4(1, x);
INPUT4(2, w);
INPUT4(3, bias);
INPUT4(4, residual);
OUTPUT4(5, result);

void main() {
    const uint vectors = (columns + 3) / 4, innerVectors = (inner + 3) / 4;
    const uint index = gl_GlobalInvocationID.x;
    const uint row = index / vectors, column = index % vectors * 4;
    if (row >= liveCount(rows, liveSlot)) return;
    vec4 sum = vec4(0.0);
    for (uint i = 0; i < innerVectors; ++i) {
        const vec4 a = LOAD4(x, row * innerVectors + i);
        for (uint c = 0; c < 4; ++c) sum[c] += dot(a, LOAD4(w, min(column + c, columns - 1) * innerVectors + i));
    }
    sum *= scale;
    if ((flags & 1u) != 0u) sum += LOAD4(bias, column / 4);
    sum = activate4(ACTIVATION, sum);
    if ((flags & 2u) != 0u) sum += LOAD4(residual, index);
    result[index] = mix(vec4(0.0), sum, lessThan(uvec4(column) + uvec4(0, 1, 2, 3), uvec4(columns)));
}
