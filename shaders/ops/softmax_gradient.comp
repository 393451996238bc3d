#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"

// dx = y (dy - y . dy) over the last axis, one subgroup per row.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push { uint rows, columns; };
INPUT4(1, y);
INPUT4(2, dy);
OUTPUT4(3, dx);

void main() {
    const uint row = gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    if (row >= rows) return;
    const uint lane = gl_SubgroupInvocationID, width = gl_SubgroupSize;
    const uint vectors = (columns + 3) / 4, base = row * vectors;
    float product = 0.0;
    for (uint i = lane; i < vectors; i += width) product += dot(LOAD4(y, base + i), LOAD4(dy, base + i));
    product = subgroupAdd(product);
    for (uint i = lane; i < vectors; i += width) dx[base + i] = LOAD4(y, base + i) * (LOAD4(dy, base + i) - product);
}
