#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"

// Sums or maxima over the last axis and perhaps axes before it, one subgroup per result.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const uint IS_MAXIMUM = 0;
layout(push_constant) uniform Push {
    uint results, lines, vectors, columns; // a result is made of lines of vectors, of which only the columns count
    float factor;
};
INPUT4(1, x);
OUTPUT4(2, result);

void main() {
    for (uint row = gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y; row < results;
         row += gl_NumWorkGroups.x * gl_WorkGroupSize.y) {
        const float least = uintBitsToFloat(0xff800000u); // minus infinity
        vec4 y = vec4(IS_MAXIMUM == 1u ? least : 0.0);
        for (uint line = 0; line < lines; ++line)
            for (uint i = gl_SubgroupInvocationID; i < vectors; i += gl_SubgroupSize) {
                const vec4 value = LOAD4(x, (row * lines + line) * vectors + i);
                if (IS_MAXIMUM == 1u)
                    y = max(y, mix(vec4(least), value, lessThan(uvec4(i * 4) + uvec4(0, 1, 2, 3), uvec4(columns))));
                else
                    y += value; // the padding is zero
            }
        const float total =
            IS_MAXIMUM == 1u ? subgroupMax(max(max(y.x, y.y), max(y.z, y.w))) : subgroupAdd(y.x + y.y + y.z + y.w);
        if (gl_SubgroupInvocationID == 0) result[row] = vec4(total * factor, 0.0, 0.0, 0.0);
    }
}
