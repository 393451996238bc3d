#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"

// Layer norm and RMS norm over the last axis, one subgroup per row, mean first and then the squared deviations.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const uint CENTRES = 1; // 1 layer norm, 0 RMS norm
layout(push_constant) uniform Push {
    uint rows, columns, rowsPerUnit, liveSlot;
    float epsilon;
};
INPUT4(1, x);
INPUT4(2, weight);
INPUT4(3, bias); // the weight again for RMS norm: not read
OUTPUT4(4, result);
OUTPUT4(5, statistics); // mean, 1 / deviation, 0, 0: for gradients

vec4 maskPadding(uint vector) { return vec4(lessThan(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(columns))); }

void main() {
    const uint row = gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    if (row >= min(rows, liveCount(rows / rowsPerUnit, liveSlot) * rowsPerUnit)) return;
    const uint lane = gl_SubgroupInvocationID, width = gl_SubgroupSize;
    const uint vectors = (columns + 3) / 4, base = row * vectors;
    float mean = 0.0;
    if (CENTRES == 1u) {
        vec4 sum = vec4(0.0);
        for (uint i = lane; i < vectors; i += width) sum += LOAD4(x, base + i);
        mean = subgroupAdd(sum.x + sum.y + sum.z + sum.w) / float(columns);
    }
    vec4 squares = vec4(0.0);
    for (uint i = lane; i < vectors; i += width) {
        const vec4 deviation = (LOAD4(x, base + i) - mean) * maskPadding(i);
        squares += deviation * deviation;
    }
    const float factor = inversesqrt(subgroupAdd(squares.x + squares.y + squares.z + squares.w) / float(columns) + epsilon);
    for (uint i = lane; i < vectors; i += width) {
        vec4 y = (LOAD4(x, base + i) - mean) * factor * LOAD4(weight, i);
        if (CENTRES == 1u) y += LOAD4(bias, i);
        result[base + i] = y * maskPadding(i);
    }
    if (lane == 0) statistics[row] = vec4(mean, factor, 0.0, 0.0);
}
