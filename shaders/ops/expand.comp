#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"

// One number in every element, times a factor; the padding stays zero.
layout(push_constant) uniform Push {
    uint vectors, columns;
    float factor;
};
INPUT_F(1, x);
OUTPUT4(2, result);

void main() {
    const uint index = FLAT_INDEX, rowVectors = (columns + 3) / 4;
    if (index >= vectors) return;
    result[index] = x[0] * factor * vec4(lessThan(uvec4(index % rowVectors * 4) + uvec4(0, 1, 2, 3), uvec4(columns)));
}
