#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"

// Softmax over the last axis, one subgroup per row. Entries at or below MASKED are absent; an empty row is all zeros,
// or NaN if an entry is NaN or has overflowed (sums of masks stay near MASKED).
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push {
    uint rows, columns, rowsPerUnit, liveSlot;
};
INPUT4(1, x);
OUTPUT4(2, result);

vec4 loadMasked(uint base, uint vector) {
    const vec4 value = LOAD4(x, base + vector);
    return mix(vec4(MASKED), value, lessThan(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(columns)));
}

void main() {
    const uint row = gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    if (row >= min(rows, liveCount(rows / rowsPerUnit, liveSlot) * rowsPerUnit)) return;
    const uint lane = gl_SubgroupInvocationID, width = gl_SubgroupSize;
    const uint vectors = (columns + 3) / 4, base = row * vectors;
    vec4 largest = vec4(MASKED);
    for (uint i = lane; i < vectors; i += width) largest = max(largest, loadMasked(base, i));
    const float maximum = subgroupMax(max(max(largest.x, largest.y), max(largest.z, largest.w)));
    vec4 sum = vec4(0.0);
    for (uint i = lane; i < vectors; i += width) sum += exp(loadMasked(base, i) - maximum);
    const float total = subgroupAdd(sum.x + sum.y + sum.z + sum.w);
    float factor = 1.0 / total;
    bool isDamaged = false;
    if (maximum <= MASKED) {
        factor = 0.0;
        for (uint i = lane; i < vectors; i += width) {
            const uvec4 magnitude = floatBitsToUint(loadMasked(base, i)) & uvec4(0x7fffffffu); // NaN is above all numbers
            isDamaged = isDamaged || any(greaterThan(magnitude, uvec4(floatBitsToUint(10.0 * -MASKED))));
        }
        isDamaged = subgroupAdd(isDamaged ? 1u : 0u) > 0u;
    }
    for (uint i = lane; i < vectors; i += width) {
        const vec4 value = loadMasked(base, i);
        vec4 y = mix(vec4(0.0), exp(value - maximum) * factor, greaterThan(value, vec4(MASKED)));
        if (isDamaged) y = mix(vec4(0.0), vec4(uintBitsToFloat(0x7fc00000u)), lessThan(uvec4(i * 4) + uvec4(0, 1, 2, 3), uvec4(columns)));
        result[base + i] = y;
    }
}
