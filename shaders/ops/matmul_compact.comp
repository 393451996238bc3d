#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#define COMPACT
#include "activation.glsl"
#include "tensor.glsl"
#include "weight.glsl"
#include "matmul.glsl"
DEFINE_WEIGHT4

// Matmul with compact weights: one subgroup per four columns of up to four rows; lanes run along K, so that weights are read in
// order, and once for the rows. Any subgroup size. Operands in matmul.glsl.
//
// Local size: the subgroup size x L (constants 0 and 1). Grid ceil(N / (4 L)) x ceil(M / 4).
const uint ROWS = 4;

void main() {
    const uint firstRow = gl_WorkGroupID.y * ROWS, live = liveVectors(rows, rowsPerUnit, liveSlot);
    const uint vector = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID;
    if (firstRow >= live || vector >= (columns + 3) / 4) return;
    const uint depth = inner / 4;

    vec4 sums[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; ++r) sums[r] = vec4(0.0);
    for (uint k = gl_SubgroupInvocationID; k < depth; k += gl_SubgroupSize) {
        mat4 weights;
        [[unroll]] for (uint c = 0; c < 4; ++c) weights[c] = weight4(min(vector * 4 + c, columns - 1), k, rowWords, inner);
        [[unroll]] for (uint r = 0; r < ROWS; ++r)
            sums[r] += LOAD4(x, min(firstRow + r, rows - 1) * depth + k) * weights;
    }
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        const vec4 sum = subgroupAdd(sums[r]);
        if (subgroupElect() && firstRow + r < live) STORE_RESULT(firstRow + r, vector, sum, LOAD_BIAS(vector));
    }
}
