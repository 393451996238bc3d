#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "lanes8.glsl"
#include "block_attention.glsl"

// dq: eight queries of one head per set of lanes; also z . dz of every row, for the keys.
INPUT4(1, q);
INPUT4(2, k);
INPUT4(3, v);
INPUT_F(4, begins);
INPUT_F(5, tiles);
INPUT4(6, bits);
INPUT_F(7, bias);
INPUT_F(8, labels);
INPUT4(9, vectors);
INPUT4(10, z);
INPUT4(11, statistics); // of the attention
INPUT4(12, dz);
OUTPUT4(13, dq);
OUTPUT4(14, statisticsWithProduct);
layout(std430, binding = 15) buffer byLabelBuffer { float byLabel[]; }; // [B,H,T,L]: what each product of a query and a vector gets

void main() {
    const uint lane = laneOf(), head = gl_WorkGroupID.y % heads, group = head / (heads / groups);
    const uint tile = gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y, row = tile * 8;
    if (row >= queries) return;
    const uint firstQuery = gl_WorkGroupID.y * queries, firstKey = (gl_WorkGroupID.y / heads * groups + group) * keys;
    const uint own = firstQuery + min(row + lane, queries - 1), base = own * headVectors;
    vec4 statisticsOfRow = LOAD4(statistics, own);
    for (uint d = 0; d < headVectors; ++d) statisticsOfRow.z += dot(LOAD4(z, base + d), LOAD4(dz, base + d));
    if (gl_WorkGroupID.z == 0 && row + lane < queries) statisticsWithProduct[own] = statisticsOfRow;
    const bool addsByLabel = HAS_LABELS == 1u && gl_WorkGroupID.z == 0;
    const uint labelsAt = own * ((labelCount + 3) / 4 * 4);
    if (addsByLabel && row + lane < queries)
        for (uint label = 0; label < (labelCount + 3) / 4 * 4; ++label) byLabel[labelsAt + label] = 0.0;
    const Features f = featuresOf(lane);
#define KEY_ROWS(n) ((firstKey + min(uvec4((block + (n)) * 4) + uvec4(0, 1, 2, 3), uvec4(keys - 1))) * headVectors)

    vec4 sum0[WIDTH], sum1[WIDTH];
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) sum0[i] = sum1[i] = vec4(0.0);
    const uint end = uint(begins[listOf(head) + tile + 1]);
    for (uint at = uint(begins[listOf(head) + tile]); at < end; ++at) {
        const uint block = uint(tiles[2 * at]) * 8, pattern = uint(tiles[2 * at + 1]), bitsAt = pattern * 4 + (lane >> 2) * 2;
        const uvec4 halves[2] = uvec4[2](uvec4(LOAD4(bits, bitsAt)), uvec4(LOAD4(bits, bitsAt + 1)));
        const bvec4 exist = exists4((block + lane) * 4, keys);
        const uvec4 kBase = KEY_ROWS(lane), place = (lane & 3) * 4 + uvec4(0, 1, 2, 3);
        LOAD_BIAS(near, head, int((block + lane) * 4) - int(row + 7) + int(queries) - 1);
        vec4 score[WIDTH], product[WIDTH];
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) score[i] = product[i] = vec4(0.0);
        ADD_DOTS(score, q, base, k, kBase, headVectors);
        ADD_LABEL_DOTS(score, head, base, pattern, lane);
        ADD_DOTS(product, dz, base, v, kBase, headVectors);
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
            const vec3 s = vec3(SHUFFLE(statisticsOfRow.x, i), SHUFFLE(statisticsOfRow.y, i), SHUFFLE(statisticsOfRow.z, i));
            vec4 cells = score[i] * (scale * LOG2_E) - s.x;
            if (HAS_BIAS == 1u) cells += vec4(near[7 - i], near[8 - i], near[9 - i], near[10 - i]);
            const vec4 p = exp2(mix(vec4(MASKED), cells, and4(exist, shown4(uvec4(halves[i / 4][i % 4]), place)))) * s.y;
            score[i] = p * (product[i] - s.z) * scale;
        }
        if (addsByLabel) { // lanes are rows, each of which adds its cells one after another
            [[unroll]] for (uint vector = 0; vector < WIDTH; ++vector) {
                vec4 cells = vec4(0.0);
                [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
                    const vec4 ofRow = SHUFFLE4(score[i], vector);
                    if (lane == i) cells = ofRow;
                }
                const uvec4 at4 = labelsAt + LABELS4(pattern, lane, vector);
                if (row + lane < queries) {
                    byLabel[at4.x] += cells.x;
                    byLabel[at4.y] += cells.y;
                    byLabel[at4.z] += cells.z;
                    byLabel[at4.w] += cells.w;
                }
            }
        }
        ADD_MIXED(sum0, sum1, score, k, f, KEY_ROWS);
    }
    [[unroll]] for (uint i = 0; i < WIDTH; ++i)
        if (row + i < queries) STORE_MIXED(dq, sum0, sum1, f, i, (firstQuery + row + i) * headVectors);
}
