#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "lanes8.glsl"
#include "block_attention.glsl"

// What the bias by distance gets, first half: a set of lanes adds up, cell by cell, the gradients of all tiles of one head that lie at
// the same distance, over all sequences. Distances of tiles are multiples of 8 from -8 (blocks of queries - 1) on. Nothing is added by
// two invocations, so that the sums are the same bits every time.
INPUT4(1, q);
INPUT4(2, k);
INPUT4(3, v);
INPUT_F(4, begins);
INPUT_F(5, tiles); // of each block of queries by rising keys
INPUT4(6, bits);
INPUT_F(7, bias);
INPUT_F(8, labels);
INPUT4(9, vectors);
INPUT4(10, statistics); // maximum, 1 / sum and z . dz of every query
INPUT4(11, dz);
OUTPUT4(12, sums); // [H, distances of tiles, 8, 32]

layout(constant_id = 6) const uint SEQUENCES = 1;

void main() {
    const uint lane = laneOf(), head = gl_WorkGroupID.y, group = head / (heads / groups);
    const uint own = gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    const uint down = (queries + 7) / 8, across = (keys + 31) / 32, distances = down + 4 * (across - 1);
    if (own >= distances) return;
    vec4 sum[WIDTH];
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) sum[i] = vec4(0.0);
    // Block n of queries and block m of keys are at distance 4 m - n, in eights.
    const int distance = int(own) - int(down - 1);
    const uint first = distance < 0 ? uint(-distance) : (4u - (uint(distance) & 3u)) & 3u;
    for (uint n = first; n < down && (uint(distance + int(n)) >> 2) < across; n += 4) {
        const uint block = uint(distance + int(n)) >> 2, end = uint(begins[listOf(head) + n + 1]);
        uint at = uint(begins[listOf(head) + n]);
        while (at < end && uint(tiles[2 * at]) < block) ++at;
        if (at >= end || uint(tiles[2 * at]) != block) continue;
        const uint row = n * 8, pattern = uint(tiles[2 * at + 1]), bitsAt = pattern * 4 + (lane >> 2) * 2, key = block * 32;
        const uvec4 halves[2] = uvec4[2](uvec4(LOAD4(bits, bitsAt)), uvec4(LOAD4(bits, bitsAt + 1)));
        const bvec4 exist = exists4(key + lane * 4, keys);
        const uvec4 place = (lane & 3) * 4 + uvec4(0, 1, 2, 3);
        LOAD_BIAS(near, head, int(key + lane * 4) - int(row + 7) + int(queries) - 1);
        for (uint sequence = 0; sequence < SEQUENCES; ++sequence) {
            const uint query = (sequence * heads + head) * queries + min(row + lane, queries - 1), base = query * headVectors;
            const uvec4 kBase =
                ((sequence * groups + group) * keys + min(uvec4(key + lane * 4) + uvec4(0, 1, 2, 3), uvec4(keys - 1))) * headVectors;
            const vec4 statisticsOfRow = LOAD4(statistics, query);
            vec4 score[WIDTH], product[WIDTH];
            [[unroll]] for (uint i = 0; i < WIDTH; ++i) score[i] = product[i] = vec4(0.0);
            ADD_DOTS(score, q, base, k, kBase, headVectors);
            ADD_LABEL_DOTS(score, head, base, pattern, lane);
            ADD_DOTS(product, dz, base, v, kBase, headVectors);
            [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
                const vec3 s = vec3(SHUFFLE(statisticsOfRow.x, i), SHUFFLE(statisticsOfRow.y, i), SHUFFLE(statisticsOfRow.z, i));
                vec4 cells = score[i] * (scale * LOG2_E) - s.x;
                if (HAS_BIAS == 1u) cells += vec4(near[7 - i], near[8 - i], near[9 - i], near[10 - i]);
                const bvec4 visible = and4(exist, shown4(uvec4(halves[i / 4][i % 4]), place));
                const vec4 p = exp2(mix(vec4(MASKED), cells, visible)) * s.y;
                if (row + i < queries) sum[i] += p * (product[i] - s.z);
            }
        }
    }
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) sums[((head * distances + own) * 8 + i) * 8 + lane] = sum[i];
}
