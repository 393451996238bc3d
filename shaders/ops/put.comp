#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_vote : require
#include "tensor.glsl"

// result[n,s,:] = the sum of x[n,r,:] over r with ids[n,r] = s. One subgroup per row of the result, lanes over its vectors: every sum
// has one owner and one order, so that results are the same bits every time.
//
// Software Vulkan ends the loops of an invocation after 65,535 rounds in all: many rows take several launches, each of which goes on
// from the result of the one before.
//
// Local size W x 1. Grid S x ceil(C / (4 W)) x N.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push { uint rows, vectors, choices, first, end; }; // first to end: fours of ids
INPUT4(1, x);
layout(std430, binding = 2) readonly buffer IdsBuffer { ivec4 ids[]; };
layout(std430, binding = 3) buffer ResultBuffer { vec4 result[]; };

const uint NONE = 0xffffffffu;

// The first set of rows at or after `begin` of which one has this id. A loop of its own: software Vulkan executes both sides of a
// branch, but leaves a loop once no lane is in it.
uint nextFound(uint begin, uint base, int id) {
    for (; begin < end; begin += gl_SubgroupSize) {
        const uint at = begin + gl_SubgroupInvocationID;
        const bvec4 counts = equal(ids[base + min(at, end - 1)], ivec4(id));
        if (subgroupAny(at < end && any(counts))) break;
    }
    return begin;
}

void main() {
    const uint vector = gl_WorkGroupID.y * gl_SubgroupSize + gl_SubgroupInvocationID, at = min(vector, vectors - 1);
    const uint n = gl_WorkGroupID.z, idBase = n * ((rows + 3) / 4);
    const int id = int(gl_WorkGroupID.x);
    const uint target = (n * choices + uint(id)) * vectors + at;
    vec4 sum = first > 0 ? result[target] : vec4(0.0);
    for (uint begin = nextFound(first, idBase, id); begin < end; begin = nextFound(begin + gl_SubgroupSize, idBase, id)) {
        const uint four = begin + gl_SubgroupInvocationID;
        const uvec4 fours = uvec4(four * 4) + uvec4(0, 1, 2, 3);
        // The rows of this lane that count; those beyond the ids and in their padding do not.
        const bvec4 counts = equal(ids[idBase + min(four, end - 1)], ivec4(id));
        const uvec4 found = four < end ? mix(uvec4(NONE), fours, counts) : uvec4(NONE);
        uint next = begin * 4;
        for (;;) {
            const uvec4 left = mix(uvec4(NONE), found, greaterThanEqual(found, uvec4(next)));
            const uint row = subgroupMin(min(min(left.x, left.y), min(left.z, left.w)));
            if (row >= rows) break;
            sum += LOAD4(x, (n * rows + row) * vectors + at);
            next = row + 1;
        }
    }
    if (vector < vectors) result[target] = sum;
}
