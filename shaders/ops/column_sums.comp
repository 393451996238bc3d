#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// Sums over rows, one vec4 of columns per invocation.
layout(local_size_x = 8) in;
layout(push_constant) uniform Push { uint rows, columns; };
INPUT4(1, x);
OUTPUT4(2, result);

void main() {
    const uint vectors = (columns + 3) / 4, vector = gl_GlobalInvocationID.x, at = min(vector, vectors - 1);
    vec4 sum = vec4(0.0);
    for (uint begin = 0; begin < rows; begin += 32768) // software Vulkan ends a loop after 65,535 rounds
        for (uint row = begin; row < min(begin + 32768, rows); ++row) sum += LOAD4(x, row * vectors + at);
    if (vector < vectors) result[vector] = sum;
}
