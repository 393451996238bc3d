#version 450
#extension GL_GOOGLE_include_directive : require
#include "activation.glsl"
#include "tensor.glsl"
#include "matmul.glsl"

// Matmul for any device: one row and four columns per invocation. Local size 64; grid over the vec4s of the result.
void main() {
    const uint vectors = (columns + 3) / 4, innerVectors = (inner + 3) / 4;
    const uint index = gl_GlobalInvocationID.x;
    const uint row = index / vectors, column = index % vectors * 4;
    if (row >= liveVectors(rows, rowsPerUnit, liveSlot)) return;
    vec4 sum = vec4(0.0);
    for (uint i = 0; i < innerVectors; ++i) {
        const vec4 a = LOAD4(x, row * innerVectors + i);
        for (uint c = 0; c < 4; ++c) sum[c] += dot(a, LOAD4(w, min(column + c, columns - 1) * innerVectors + i));
    }
    STORE_RESULT(row, column / 4, sum);
}
