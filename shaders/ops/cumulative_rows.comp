#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"

// Running sums along the last axis, one subgroup per row.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push { uint rows, columns, isExclusive, isReverse; };
INPUT4(1, x);
OUTPUT4(2, result);

void main() {
    const uint vectors = (columns + 3) / 4;
    for (uint row = gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y; row < rows;
         row += gl_NumWorkGroups.x * gl_WorkGroupSize.y) {
        float before = 0.0;
        for (uint begin = 0; begin < vectors; begin += gl_SubgroupSize) {
            const uint i = begin + gl_SubgroupInvocationID, vector = isReverse == 1u ? vectors - 1 - i : i;
            vec4 value = i < vectors ? LOAD4(x, row * vectors + vector) : vec4(0.0);
            if (isReverse == 1u) value = value.wzyx;
            const float two = value.x + value.y, three = two + value.z, all = three + value.w;
            const float start = before + subgroupExclusiveAdd(all);
            vec4 y = start + (isExclusive == 1u ? vec4(0.0, value.x, two, three) : vec4(value.x, two, three, all));
            if (isReverse == 1u) y = y.wzyx;
            if (i < vectors)
                result[row * vectors + vector] =
                    mix(vec4(0.0), y, lessThan(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(columns)));
            before += subgroupAdd(all);
        }
    }
}
