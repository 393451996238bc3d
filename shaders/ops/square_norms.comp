#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"

// Sums of squares of several tensors, each in as many parts as grid x: one subgroup sums one stretch of one tensor, so that every
// sum has one order and the same bits every time.
//
// Local size W x 1. Grid parts x tensors.
#if FEW // storage buffers are bound at once
const uint SLOTS = 8;
#define FOR_SLOTS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#else
const uint SLOTS = 24;
#define FOR_SLOTS(DO)                                                                                                             \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)                                                     \
    DO(12) DO(13) DO(14) DO(15) DO(16) DO(17) DO(18) DO(19) DO(20) DO(21) DO(22) DO(23)
#endif
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push { uint vectors[SLOTS], firstTensor; };
#define INPUT(slot) INPUT4(slot + 1, x##slot);
FOR_SLOTS(INPUT)
layout(std430, binding = SLOTS + 1) writeonly buffer resultBuffer { float result[]; };

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
    FOR_SLOTS(SUM)
    const float total = subgroupAdd(sum.x + sum.y + sum.z + sum.w);
    if (gl_SubgroupInvocationID == 0) result[(firstTensor + slot) * gl_NumWorkGroups.x + gl_WorkGroupID.x] = total;
}
