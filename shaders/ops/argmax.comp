#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// The column of the largest element of each row, the lowest of equals, one row per invocation. The results of one index of the
// axes before are a padded row of their own.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint rows, columns, resultStride; };
INPUT4(1, x);
OUTPUT_I(2, result);

void main() {
    const uint row = gl_GlobalInvocationID.x, vectors = (columns + 3) / 4;
    if (row >= resultStride) return;
    const uint base = (gl_WorkGroupID.y * rows + min(row, rows - 1)) * vectors;
    float largest = LOAD4(x, base).x;
    uint at = 0;
    for (uint vector = 0; vector < vectors; ++vector) {
        const vec4 values = LOAD4(x, base + vector);
        for (uint i = 0; i < 4; ++i) {
            const bool isLarger = vector * 4 + i < columns && values[i] > largest;
            largest = isLarger ? values[i] : largest;
            at = isLarger ? vector * 4 + i : at;
        }
    }
    result[gl_WorkGroupID.y * resultStride + row] = row < rows ? int(at) : 0;
}
