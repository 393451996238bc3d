#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"

// The sum of all elements by one subgroup: one order, the same bits every time.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push { uint vectors; };
INPUT4(1, x);
OUTPUT4(2, result);

void main() {
    vec4 sum = vec4(0.0);
    for (uint i = gl_SubgroupInvocationID; i < vectors; i += gl_SubgroupSize) sum += LOAD4(x, i);
    const float total = subgroupAdd(sum.x + sum.y + sum.z + sum.w);
    if (gl_SubgroupInvocationID == 0) result[0] = vec4(total, 0.0, 0.0, 0.0);
}
