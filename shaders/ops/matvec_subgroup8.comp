#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "activation.glsl"
#include "tensor.glsl"
#include "matmul.glsl"

// Matmul for few rows (M of 1 to about 4, one subgroup per row) on software Vulkan: 32 columns per subgroup, four per lane.
// Operands in matmul.glsl.
//
// Local size 8 x L (constants 0 and 1; L of 1 to 4). Grid ceil(N / (32 L)) x M.
const uint WIDTH = 8;
const uint STEP = 4; // vectors of x per round; one load covers them, as lanes

void main() {
    const uint lane = gl_SubgroupInvocationID;
    const uint row = gl_WorkGroupID.y;
    if (row >= liveVectors(rows, rowsPerUnit, liveSlot)) return;
    const uint vector = (gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * WIDTH + lane;
    const uint depth = (inner + 3) / 4, xBase = row * depth;
    const uvec4 wBase = min(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(columns - 1)) * depth;

    vec4 sum = vec4(0.0);
    for (uint k = 0; k < depth; k += STEP) {
        vec4 a = LOAD4(x, xBase + min(k + lane, depth - 1));
        if (k + lane >= depth) a = vec4(0.0); // in the last round, so that repeated weights count nothing
        [[unroll]] for (uint u = 0; u < STEP; ++u) {
            const uint at = min(k + u, depth - 1);
            const vec4 s = vec4(subgroupShuffle(a.x, u), subgroupShuffle(a.y, u), subgroupShuffle(a.z, u), subgroupShuffle(a.w, u));
            sum += vec4(dot(s, LOAD4(w, wBase.x + at)), dot(s, LOAD4(w, wBase.y + at)), dot(s, LOAD4(w, wBase.z + at)),
                        dot(s, LOAD4(w, wBase.w + at)));
        }
    }
    if (vector < (columns + 3) / 4) STORE_RESULT(row, vector, sum, LOAD_BIAS(vector));
}
