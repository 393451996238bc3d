#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "activation.glsl"
#include "tensor.glsl"
#include "matmul.glsl"

// Matmul for few rows (M of 1 to about 4, one subgroup per row) on software Vulkan: 32 columns per subgroup. Lanes run along
// K, so that each weight row is read once and in order, eight rows at a time; their sums are then reduced across the lanes.
// Operands in matmul.glsl.
//
// Local size 8 x L (constants 0 and 1; L = 1 or 2). Grid ceil(N / (32 L)) x M.
const uint WIDTH = 8;

void main() {
    const uint lane = gl_SubgroupInvocationID;
    const uint row = gl_WorkGroupID.y;
    if (row >= liveVectors(rows, rowsPerUnit, liveSlot)) return;
    const uint first = (gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * 4 * WIDTH;
    if (first >= columns) return;
    const uint depth = (inner + 3) / 4, xBase = row * depth;

    vec4 y = vec4(0.0); // lane l holds columns first + 4 l + (0, 1, 2, 3)
    for (uint block = 0; block < 4; ++block) {
        const uint column = first + block * WIDTH;
        uint wBase[WIDTH];
        float sum[WIDTH];
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
            wBase[i] = min(column + i, columns - 1) * depth;
            sum[i] = 0.0;
        }
        for (uint k = 0; k < depth; k += WIDTH) {
            const uint at = min(k + lane, depth - 1);
            const vec4 a = k + lane < depth ? LOAD4(x, xBase + at) : vec4(0.0);
            [[unroll]] for (uint i = 0; i < WIDTH; ++i) sum[i] += dot(a, LOAD4(w, wBase[i] + at));
        }
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
            float total = sum[i];
            [[unroll]] for (uint step = 1; step < WIDTH; step *= 2) total += subgroupShuffleXor(total, step);
            if (lane == 2 * block + i / 4) y[i % 4] = total;
        }
    }
    const uint vector = first / 4 + lane;
    if (vector < (columns + 3) / 4) STORE_RESULT(row, vector, y);
}
