#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "activation.glsl"
#include "tensor.glsl"
#include "matmul.glsl"

// Matmul for software Vulkan, where a subgroup is one 8-wide vector register: a tile of 16 rows by 32 columns per subgroup,
// four columns per lane, without shared memory. Operands in matmul.glsl.
//
// Local size 8 x L (constants 0 and 1; L = 4 is good). Grid ceil(N / 32) x ceil(M / (16 L)).
const uint WIDTH = 8;
const uint BLOCKS = 2; // of 8 rows

void main() {
    const uint lane = gl_SubgroupInvocationID;
    const uint live = liveVectors(rows, rowsPerUnit, liveSlot);
    const uint row = (gl_WorkGroupID.y * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * WIDTH * BLOCKS;
    if (row >= live) return;
    const uint vector = gl_WorkGroupID.x * WIDTH + lane;
    const uint depth = (inner + 3) / 4;
    const uint xBase0 = min(row + lane, live - 1) * depth, xBase1 = min(row + WIDTH + lane, live - 1) * depth;
    const uvec4 wBase = min(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(columns - 1)) * depth;

    // Lanes are rows of x when loading it, and columns of the result; sum[i] is row `row + i`. Four products are added before
    // they join the sum: 64 sums do not fit the registers, so each touch of one is a load and a store.
    vec4 sum[WIDTH * BLOCKS];
    [[unroll]] for (uint i = 0; i < WIDTH * BLOCKS; ++i) sum[i] = vec4(0.0);
    for (uint k = 0; k < depth; ++k) {
        const vec4 a[BLOCKS] = vec4[](LOAD4(x, xBase0 + k), LOAD4(x, xBase1 + k));
        const vec4 b0 = LOAD4(w, wBase.x + k), b1 = LOAD4(w, wBase.y + k), b2 = LOAD4(w, wBase.z + k), b3 = LOAD4(w, wBase.w + k);
        [[unroll]] for (uint i = 0; i < WIDTH * BLOCKS; ++i) {
            const vec4 source = a[i / WIDTH];
            const vec4 s = vec4(subgroupShuffle(source.x, i % WIDTH), subgroupShuffle(source.y, i % WIDTH),
                                subgroupShuffle(source.z, i % WIDTH), subgroupShuffle(source.w, i % WIDTH));
            sum[i] += vec4(dot(s, b0), dot(s, b1), dot(s, b2), dot(s, b3));
        }
    }

    if (vector >= (columns + 3) / 4) return;
    [[unroll]] for (uint i = 0; i < WIDTH * BLOCKS; ++i) {
        if (row + i >= live) return;
        STORE_RESULT(row + i, vector, sum[i]);
    }
}
