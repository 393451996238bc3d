#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"

// Repacks rows of one padded width into rows of another, one float per invocation.
layout(push_constant) uniform Push {
    uint fromColumns, fromStride, toColumns, toStride, elements;
};
INPUT_F(1, x);
OUTPUT_F(2, result);

void main() {
    const uint index = FLAT_INDEX;
    if (index >= elements) return;
    const uint column = index % toStride;
    const uint element = index / toStride * toColumns + column;
    result[index] = column < toColumns ? x[element / fromColumns * fromStride + element % fromColumns] : 0.0;
}
