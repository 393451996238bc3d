#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "activation.glsl"
#include "tensor.glsl"
#include "matmul.glsl"

// Matmul for software Vulkan, where a subgroup is one 8-wide vector register: a tile of 8 rows by 32 columns per subgroup,
// four columns per lane, all in registers; no shared memory. Operands in matmul.glsl.
//
// Local size 8 x L (constants 0 and 1; L = 4 is good). Grid ceil(N / 32) x ceil(M / (8 L)).
const uint WIDTH = 8;

void main() {
    const uint lane = gl_SubgroupInvocationID;
    const uint live = liveVectors(rows, rowsPerUnit, liveSlot);
    const uint row = (gl_WorkGroupID.y * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * WIDTH;
    if (row >= live) return;
    const uint vector = gl_WorkGroupID.x * WIDTH + lane;
    const uint depth = (inner + 3) / 4;
    uint xBase = min(row + lane, live - 1) * depth;
    uvec4 wBase = min(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(columns - 1)) * depth;

    // Lanes are rows of x and columns of the result; sum[i] is the row `row + i`.
    vec4 sum[WIDTH];
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) sum[i] = vec4(0.0);
    for (uint k = 0; k < depth; ++k) {
        const vec4 a = LOAD4(x, xBase + k);
        mat4 b;
        [[unroll]] for (uint j = 0; j < 4; ++j) b[j] = LOAD4(w, wBase[j] + k);
        [[unroll]] for (uint c = 0; c < 4; ++c)
            [[unroll]] for (uint i = 0; i < WIDTH; ++i) sum[i] += subgroupShuffle(a[c], i) * vec4(b[0][c], b[1][c], b[2][c], b[3][c]);
    }

    if (vector >= (columns + 3) / 4) return;
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        if (row + i >= live) return;
        STORE_RESULT(row + i, vector, sum[i]);
    }
}
