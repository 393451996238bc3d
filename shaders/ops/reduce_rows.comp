#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"

// Sums or maxima over the last axis and perhaps axes before it, one subgroup per result or, where there is little to do for each,
// one invocation.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const uint IS_MAXIMUM = 0;
layout(constant_id = 3) const uint IS_SHORT = 0;
layout(push_constant) uniform Push {
    uint results, lines, vectors, columns; // a result is made of lines of vectors, of which only the columns count
    float factor;
};
INPUT4(1, x);
OUTPUT4(2, result);

void main() {
    const float least = uintBitsToFloat(0xff800000u); // minus infinity
    const uint team = IS_SHORT == 1u ? 1 : gl_SubgroupSize, member = IS_SHORT == 1u ? 0 : gl_SubgroupInvocationID;
    const uint teams = gl_WorkGroupSize.x * gl_WorkGroupSize.y / team;
    const uint own = IS_SHORT == 1u ? gl_LocalInvocationIndex : gl_LocalInvocationID.y;
    for (uint row = gl_WorkGroupID.x * teams + own; row < results; row += gl_NumWorkGroups.x * teams) {
        vec4 y = vec4(IS_MAXIMUM == 1u ? least : 0.0);
        for (uint line = 0; line < lines; ++line)
            for (uint i = member; i < vectors; i += team) {
                const vec4 value = LOAD4(x, (row * lines + line) * vectors + i);
                if (IS_MAXIMUM == 1u)
                    y = max(y, mix(vec4(least), value, lessThan(uvec4(i * 4) + uvec4(0, 1, 2, 3), uvec4(columns))));
                else
                    y += value; // the padding is zero
            }
        float total = IS_MAXIMUM == 1u ? max(max(y.x, y.y), max(y.z, y.w)) : y.x + y.y + y.z + y.w;
        if (IS_SHORT == 0u) total = IS_MAXIMUM == 1u ? subgroupMax(total) : subgroupAdd(total);
        if (member == 0) result[row] = vec4(total * factor, 0.0, 0.0, 0.0);
    }
}
