#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "activation.glsl"
#include "tensor.glsl"
#include "matmul.glsl"

// Matmul for few rows (M of 1 to about 4) on real GPUs: one subgroup per four columns of one row; lanes run along K, so that
// weights are read in order. Any subgroup size. Operands in matmul.glsl.
//
// Local size: the subgroup size x L (constants 0 and 1; L = 4 is good). Grid ceil(N / (4 L)) x M.
void main() {
    const uint row = gl_WorkGroupID.y;
    const uint vector = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID;
    if (row >= liveVectors(rows, rowsPerUnit, liveSlot) || vector >= (columns + 3) / 4) return;
    const uint depth = (inner + 3) / 4, xBase = row * depth;
    const uvec4 wBase = min(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(columns - 1)) * depth;

    vec4 sum = vec4(0.0);
    for (uint k = gl_SubgroupInvocationID; k < depth; k += gl_SubgroupSize) {
        const vec4 a = LOAD4(x, xBase + k);
        sum += vec4(dot(a, LOAD4(w, wBase.x + k)), dot(a, LOAD4(w, wBase.y + k)), dot(a, LOAD4(w, wBase.z + k)),
                    dot(a, LOAD4(w, wBase.w + k)));
    }
    sum = subgroupAdd(sum);
    if (subgroupElect()) STORE_RESULT(row, vector, sum, LOAD_BIAS(vector));
}
