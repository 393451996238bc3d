#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tensor.glsl"

// Gradients of a norm's weight and bias: sums over rows, one vec4 of columns per invocation.
layout(local_size_x = 8) in;
layout(push_constant) uniform Push { uint rows, columns; };
INPUT4(1, x);
INPUT4(2, statistics); // of the norm
INPUT4(3, dy);
OUTPUT4(4, dWeight);
OUTPUT4(5, dBias);

void main() {
    const uint vectors = (columns + 3) / 4, vector = gl_GlobalInvocationID.x, at = min(vector, vectors - 1);
    vec4 products = vec4(0.0), sum = vec4(0.0);
    // Eight rows a round: software Vulkan ends the loops of an invocation after 65,535 rounds in all.
    for (uint begin = 0; begin < rows; begin += 8)
        [[unroll]] for (uint i = 0; i < 8; ++i) {
            const uint row = min(begin + i, rows - 1);
            const vec4 s = LOAD4(statistics, row), g = LOAD4(dy, row * vectors + at) * (begin + i < rows ? 1.0 : 0.0);
            products += (LOAD4(x, row * vectors + at) - s.x) * s.y * g;
            sum += g;
        }
    if (vector >= vectors) return;
    dWeight[vector] = products; // the padding of dy is zero
    dBias[vector] = sum;
}
