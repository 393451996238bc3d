#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "activation.glsl"
#include "tensor.glsl"
#include "matmul.glsl"

// Matmul for few rows (M of 1 to about 4, one subgroup per row) on software Vulkan: 32 columns per subgroup. Lanes walk along K, so
// that weights are read in the order in which they lie; the lanes' sums meet at the end.
//
// Local size 8 x L (constants 0 and 1; L of 1 to 4). Grid ceil(N / (32 L)) x M.
const uint WIDTH = 8;

void main() {
    const uint lane = gl_SubgroupInvocationID;
    const uint row = gl_WorkGroupID.y;
    if (row >= liveVectors(rows, rowsPerUnit, liveSlot)) return;
    const uint firstVector = (gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * WIDTH;
    const uint vector = firstVector + lane; // the four columns that this lane stores
    const uint depth = (inner + 3) / 4, xBase = row * depth;

    vec4 product;
    [[unroll]] for (uint c = 0; c < 4; ++c) { // component c of the vectors of all lanes: column 4 (firstVector + i) + c for lane i
        uint wBase[WIDTH];
        float sum[WIDTH];
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
            wBase[i] = min((firstVector + i) * 4 + c, columns - 1) * depth;
            sum[i] = 0.0;
        }
        for (uint k = 0; k < depth; k += WIDTH) {
            const uint at = min(k + lane, depth - 1);
            vec4 a = LOAD4(x, xBase + at);
            if (k + lane >= depth) a = vec4(0.0); // in the last round, so that repeated weights count nothing
            [[unroll]] for (uint i = 0; i < WIDTH; ++i) sum[i] += dot(a, LOAD4(w, wBase[i] + at));
        }
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
            float total = 0.0;
            [[unroll]] for (uint l = 0; l < WIDTH; ++l) total += subgroupShuffle(sum[i], l);
            if (lane == i) product[c] = total;
        }
    }
    if (vector < (columns + 3) / 4) STORE_RESULT(row, vector, product, LOAD_BIAS(vector));
}
