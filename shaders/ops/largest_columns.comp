#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"

// The columns of the `count` largest x[row,column] factor[column] of each row, ascending; of equals the first columns, NaN last. One
// workgroup per row: it finds the smallest chosen number three bits at a time, and then each invocation lists the columns of its own part
// of the row.
const uint LANES = 128;
layout(local_size_x = LANES) in;
layout(push_constant) uniform Push { uint columns, count, resultStride, rowsPerFactor; };
INPUT4(1, x);
INPUT4(2, factor);
OUTPUT_I(3, result);

shared uint totals[11 * 8];
shared uvec2 ofSubgroup[LANES];

uint rowBase, factorBase, vectors;

// Numbers that rise with four products; 0 beyond the last column.
uvec4 keysOf(uint vector) {
    const vec4 value = LOAD4(x, rowBase + vector) * LOAD4(factor, factorBase + vector);
    const uvec4 bits = floatBitsToUint(mix(value, vec4(0.0), equal(value, vec4(0.0)))); // without -0
    const uvec4 keys = mix(bits | 0x80000000u, ~bits, greaterThanEqual(bits, uvec4(0x80000000u)));
    const uvec4 column = uvec4(vector * 4) + uvec4(0, 1, 2, 3);
    return mix(keys, uvec4(0u), bvec4(uvec4(isnan(value)) | uvec4(greaterThanEqual(column, uvec4(columns)))));
}

uint sumOf(uvec4 v) { return v.x + v.y + v.z + v.w; }

void main() {
    const uint row = gl_WorkGroupID.x, lane = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
    vectors = (columns + 3) / 4;
    rowBase = row * vectors;
    factorBase = row / rowsPerFactor * vectors;
    if (lane < 11 * 8) totals[lane] = 0u;
    barrier();
    uint least = 0u;
    for (uint pass = 0; pass < 11; ++pass) {
        const uint shift = 30 - 3 * pass; // the first two bits, then three at a time
        uint found[8];
        [[unroll]] for (uint digit = 0; digit < 8; ++digit) found[digit] = 0u;
        for (uint vector = lane; vector < vectors; vector += LANES) {
            const uvec4 keys = keysOf(vector);
            [[unroll]] for (uint digit = 1; digit < 8; ++digit)
                found[digit] += sumOf(uvec4(greaterThanEqual(keys, uvec4(least + (digit << shift)))));
        }
        [[unroll]] for (uint digit = 1; digit < 8; ++digit) {
            const uint all = subgroupAdd(found[digit]);
            if (subgroupElect()) atomicAdd(totals[pass * 8 + digit], all);
        }
        barrier();
        uint chosen = 0, most = pass == 0 ? 3u : 7u;
        for (uint digit = 1; digit <= most; ++digit) chosen = totals[pass * 8 + digit] >= count ? digit : chosen;
        least += chosen << shift;
        if (chosen > 0 && totals[pass * 8 + chosen] == count) break;
    }
    const uint each = (vectors + LANES - 1) / LANES, begin = min(lane * each, vectors), end = min(begin + each, vectors);
    uvec2 own = uvec2(0u); // above the least, and equal to it
    for (uint vector = begin; vector < end; ++vector) {
        const uvec4 keys = keysOf(vector);
        const uint last = min(columns - vector * 4, 4u);
        own.x += sumOf(uvec4(greaterThan(keys, uvec4(least))));
        own.y += sumOf(uvec4(equal(keys, uvec4(least))) * uvec4(lessThan(uvec4(0, 1, 2, 3), uvec4(last))));
    }
    const uvec2 all = subgroupAdd(own);
    if (subgroupElect()) ofSubgroup[gl_SubgroupID] = all;
    barrier();
    uvec2 before = subgroupExclusiveAdd(own), sum = uvec2(0u);
    for (uint subgroup = 0; subgroup < gl_NumSubgroups; ++subgroup) {
        before += subgroup < gl_SubgroupID ? ofSubgroup[subgroup] : uvec2(0u);
        sum += ofSubgroup[subgroup];
    }
    const uint equals = count - sum.x; // no more than `count` are above the least
    uint place = row * resultStride + before.x + min(before.y, equals), left = equals - min(before.y, equals);
    for (uint vector = begin; vector < end && own.x + own.y > 0u; ++vector) {
        const uvec4 keys = keysOf(vector);
        for (uint i = 0; i < 4; ++i) {
            const bool isEqual = keys[i] == least && left > 0u;
            if (vector * 4 + i >= columns || (keys[i] <= least && !isEqual)) continue;
            left -= isEqual ? 1u : 0u;
            result[place++] = int(vector * 4 + i);
        }
    }
    if (lane < resultStride - count) result[row * resultStride + count + lane] = 0;
}
