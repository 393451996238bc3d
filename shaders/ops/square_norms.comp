#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"

// Sums of squares of several tensors, each in as many parts as grid x: one subgroup sums one stretch of one tensor, so that every
// sum has one order and the same bits every time.
//
// Local size W x 1. Grid parts x tensors.
const uint SLOTS = 24;
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push { uint vectors[SLOTS], firstTensor; };
#define INPUT(slot) INPUT4(slot + 1, x##slot);
INPUT(0) INPUT(1) INPUT(2) INPUT(3) INPUT(4) INPUT(5) INPUT(6) INPUT(7) INPUT(8) INPUT(9) INPUT(10) INPUT(11)
INPUT(12) INPUT(13) INPUT(14) INPUT(15) INPUT(16) INPUT(17) INPUT(18) INPUT(19) INPUT(20) INPUT(21) INPUT(22) INPUT(23)
OUTPUT_F(25, result);

void main() {
    const uint slot = gl_WorkGroupID.y, stretch = (vectors[slot] + gl_NumWorkGroups.x - 1) / gl_NumWorkGroups.x;
    const uint first = gl_WorkGroupID.x * stretch, end = min(first + stretch, vectors[slot]);
    vec4 sum = vec4(0.0);
    // A loop per tensor: software Vulkan leaves a loop once no lane is in it, and ends one after 65,535 rounds.
#define SUM(n)                                                                                                                    \
    for (uint begin = slot == n ? first : end; begin < end; begin += 32768 * gl_SubgroupSize)                                     \
        for (uint i = begin + gl_SubgroupInvocationID; i < min(begin + 32768 * gl_SubgroupSize, end); i += gl_SubgroupSize) {     \
            const vec4 value = LOAD4(x##n, i);                                                                                    \
            sum += value * value;                                                                                                 \
        }
    SUM(0) SUM(1) SUM(2) SUM(3) SUM(4) SUM(5) SUM(6) SUM(7) SUM(8) SUM(9) SUM(10) SUM(11)
    SUM(12) SUM(13) SUM(14) SUM(15) SUM(16) SUM(17) SUM(18) SUM(19) SUM(20) SUM(21) SUM(22) SUM(23)
    const float total = subgroupAdd(sum.x + sum.y + sum.z + sum.w);
    if (gl_SubgroupInvocationID == 0) result[(firstTensor + slot) * gl_NumWorkGroups.x + gl_WorkGroupID.x] = total;
}
