#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tensor.glsl"

// Gradients of a norm's weight and bias: sums over rows. Eight invocations of a workgroup have a vec4 of columns each; along y, each has a
// stretch of the rows, and their sums are added in order.
//
// Local size 8 x stretches (constants 0 and 1). Grid ceil(C / 32).
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push { uint rows, columns; };
INPUT4(1, x);
INPUT4(2, statistics); // of the norm
INPUT4(3, dy);
OUTPUT4(4, dWeight);
OUTPUT4(5, dBias);

shared vec4 partial[gl_WorkGroupSize.y * 16];

void main() {
    const uint vectors = (columns + 3) / 4, vector = gl_GlobalInvocationID.x, at = min(vector, vectors - 1);
    const uint stretch = (rows + gl_WorkGroupSize.y - 1) / gl_WorkGroupSize.y;
    const uint first = gl_LocalInvocationID.y * stretch, end = min(first + stretch, rows);
    vec4 products = vec4(0.0), sum = vec4(0.0);
    // Eight rows a round: software Vulkan ends the loops of an invocation after 65,535 rounds in all.
    for (uint begin = first; begin < end; begin += 8)
        [[unroll]] for (uint i = 0; i < 8; ++i) {
            const uint row = min(begin + i, rows - 1);
            const vec4 s = LOAD4(statistics, row), g = LOAD4(dy, row * vectors + at) * (begin + i < end ? 1.0 : 0.0);
            products += (LOAD4(x, row * vectors + at) - s.x) * s.y * g;
            sum += g;
        }
    if (gl_WorkGroupSize.y > 1) {
        partial[gl_LocalInvocationIndex * 2] = products;
        partial[gl_LocalInvocationIndex * 2 + 1] = sum;
        barrier();
        if (gl_LocalInvocationID.y > 0) return;
        for (uint i = 1; i < gl_WorkGroupSize.y; ++i) {
            products += partial[(i * 8 + gl_LocalInvocationID.x) * 2];
            sum += partial[(i * 8 + gl_LocalInvocationID.x) * 2 + 1];
        }
    }
    if (vector >= vectors) return;
    dWeight[vector] = products; // the padding of dy is zero
    dBias[vector] = sum;
}
