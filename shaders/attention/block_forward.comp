#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "lanes8.glsl"
#include "block_attention.glsl"

// z and the statistics of every row: the maximum of its scores in powers of two, 1 / the sum of their exponentials, 0, 0.
INPUT4(1, q);
INPUT4(2, k);
INPUT4(3, v);
INPUT_F(4, begins);
INPUT_F(5, tiles);
INPUT4(6, bits);
INPUT_F(7, bias);
INPUT_F(8, labels);
INPUT4(9, vectors);
INPUT4(10, first); // [B,H,firsts,D]: rows of z that were computed elsewhere
OUTPUT4(11, z);
OUTPUT4(12, statistics);

void main() {
    const uint lane = laneOf(), head = gl_WorkGroupID.y % heads, group = head / (heads / groups);
    const uint tile = gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y, row = tile * 8;
    if (row >= queries) return;
    const uint firstQuery = gl_WorkGroupID.y * queries, firstKey = (gl_WorkGroupID.y / heads * groups + group) * keys;
    const uint base = (firstQuery + min(row + lane, queries - 1)) * headVectors;
    const Features f = featuresOf(lane);
#define KEY_ROWS(n) ((firstKey + min(uvec4((block + (n)) * 4) + uvec4(0, 1, 2, 3), uvec4(keys - 1))) * headVectors)

    float maximum[WIDTH], sum[WIDTH];
    vec4 z0[WIDTH], z1[WIDTH];
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        maximum[i] = NOTHING_SEEN;
        sum[i] = 0.0;
        z0[i] = z1[i] = vec4(0.0);
    }
    const uint end = uint(begins[listOf(head) + tile + 1]);
    for (uint at = uint(begins[listOf(head) + tile]); at < end; ++at) {
        const uint block = uint(tiles[2 * at]) * 8, pattern = uint(tiles[2 * at + 1]), bitsAt = pattern * 4 + (lane >> 2) * 2;
        const uvec4 halves[2] = uvec4[2](uvec4(LOAD4(bits, bitsAt)), uvec4(LOAD4(bits, bitsAt + 1)));
        const bvec4 exist = exists4((block + lane) * 4, keys);
        const uvec4 kBase = KEY_ROWS(lane), place = (lane & 3) * 4 + uvec4(0, 1, 2, 3);
        LOAD_BIAS(near, head, int((block + lane) * 4) - int(row + 7) + int(queries) - 1);
        vec4 score[WIDTH];
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) score[i] = vec4(0.0);
        ADD_DOTS(score, q, base, k, kBase, headVectors);
        ADD_LABEL_DOTS(score, head, base, pattern, lane);
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
            vec4 own = score[i] * (scale * LOG2_E);
            if (HAS_BIAS == 1u) own += vec4(near[7 - i], near[8 - i], near[9 - i], near[10 - i]);
            own = mix(vec4(MASKED), own, and4(exist, shown4(uvec4(halves[i / 4][i % 4]), place)));
            const float larger = max(maximum[i], maxOfLanes(own));
            const float keep = exp2(maximum[i] - larger);
            maximum[i] = larger;
            score[i] = exp2(own - larger);
            sum[i] = sum[i] * keep + (score[i].x + score[i].y + score[i].z + score[i].w);
            z0[i] *= keep;
            if (BLOCKS > 1) z1[i] *= keep;
        }
        ADD_MIXED(z0, z1, score, v, f, KEY_ROWS);
    }

    vec4 statisticsOfRow = vec4(0.0);
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        const float inverse = maximum[i] <= NOTHING_SEEN ? 0.0 : 1.0 / sumOfLanes(sum[i]);
        if (lane == i) statisticsOfRow.xy = vec2(maximum[i], inverse);
        z0[i] *= inverse;
        z1[i] *= inverse;
        if (row + i >= firsts && row + i < queries) STORE_MIXED(z, z0, z1, f, i, (firstQuery + row + i) * headVectors);
    }
    if (gl_WorkGroupID.z == 0 && row + lane < firsts)
        for (uint d = 0; d < headVectors; ++d)
            z[(firstQuery + row + lane) * headVectors + d] = LOAD4(first, (gl_WorkGroupID.y * firsts + row + lane) * headVectors + d);
    if (gl_WorkGroupID.z == 0 && row + lane < queries) statistics[firstQuery + row + lane] = statisticsOfRow;
}
