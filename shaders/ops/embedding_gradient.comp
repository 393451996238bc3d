#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#include "tensor.glsl"

// dTable[v,:] = residual[v,:] + sum over the rows t with ids[t] = v of dy[t,:]. One subgroup per row of the table, lanes over its vectors: every sum
// has one owner and one order, so that results are the same bits every time.
//
// Local size W x 1. Grid V x ceil(C / (4 W)).
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push { uint rows, rowVectors, vocabulary, hasResidual; };
INPUT_I(1, ids);
INPUT4(2, dy);
INPUT4(3, residual); // or any tensor
OUTPUT4(4, dTable);

// The first set of rows at or after `begin` of which one has this id. A loop of its own: software Vulkan executes both sides of a
// branch, but leaves a loop once no lane is in it.
uint nextFound(uint begin, int id) {
    for (; begin < rows; begin += gl_SubgroupSize) {
        const uint row = begin + gl_SubgroupInvocationID;
        if (subgroupAny(row < rows && clamp(ids[min(row, rows - 1)], 0, int(vocabulary) - 1) == id)) break;
    }
    return begin;
}

void main() {
    const uint vector = gl_WorkGroupID.y * gl_SubgroupSize + gl_SubgroupInvocationID, at = min(vector, rowVectors - 1);
    const int id = int(gl_WorkGroupID.x);
    vec4 sum = hasResidual == 1u ? LOAD4(residual, uint(id) * rowVectors + at) : vec4(0.0);
    for (uint begin = nextFound(0, id); begin < rows; begin = nextFound(begin + gl_SubgroupSize, id))
        // Eight rows a round: software Vulkan ends the loops of an invocation after 65,535 rounds in all.
        for (uint first = begin; first < min(begin + gl_SubgroupSize, rows); first += 8)
            [[unroll]] for (uint i = 0; i < 8; ++i) {
                const uint row = min(first + i, rows - 1);
                const bool counts = first + i < min(begin + gl_SubgroupSize, rows) && clamp(ids[row], 0, int(vocabulary) - 1) == id;
                sum += (counts ? 1.0 : 0.0) * LOAD4(dy, row * rowVectors + at);
            }
    if (vector < rowVectors) dTable[uint(id) * rowVectors + vector] = sum;
}
