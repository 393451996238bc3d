#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "lanes8.glsl"
#include "block_attention.glsl"

// dk and dv: eight keys, a quarter of a block, of one key/value head per set of lanes, against four tiles of the lists by keys at a time:
// a lane has half of the eight queries of a tile.
INPUT4(1, q);
INPUT4(2, k);
INPUT4(3, v);
INPUT_F(4, begins); // by keys
INPUT_F(5, tiles);
INPUT4(6, bits);
INPUT_F(7, bias);
INPUT_F(8, labels);
INPUT4(9, vectors);
INPUT4(10, statistics); // maximum, 1 / sum and z . dz of every query
INPUT4(11, dz);
OUTPUT4(12, dk);
OUTPUT4(13, dv);

void main() {
    const uint lane = laneOf(), group = gl_WorkGroupID.y % groups, share = heads / groups, sequence = gl_WorkGroupID.y / groups;
    const uint tile = gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y, row = tile * 8;
    if (row >= keys) return;
    const uint firstKey = gl_WorkGroupID.y * keys;
    const uint base = (firstKey + min(row + lane, keys - 1)) * headVectors;
    const Features f = featuresOf(lane);
#define FIRST_OF_FOUR(n) (uint(tiles[2 * min(at + (n) / 2, end - 1)]) * 8 + ((n) & 1) * 4)
#define QUERY_ROWS(n) ((firstQuery + min(uvec4(FIRST_OF_FOUR(n)) + uvec4(0, 1, 2, 3), uvec4(queries - 1))) * headVectors)

    vec4 k0[WIDTH], k1[WIDTH], v0[WIDTH], v1[WIDTH];
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) k0[i] = k1[i] = v0[i] = v1[i] = vec4(0.0);
    for (uint head = group * share; head < (group + 1) * share; ++head) {
        const uint firstQuery = (sequence * heads + head) * queries;
        const uint end = uint(begins[listOf(head) + tile / 4 + 1]);
        for (uint at = uint(begins[listOf(head) + tile / 4]); at < end; at += 4) {
            const uint query = FIRST_OF_FOUR(lane), bitsOf = uint(tiles[2 * min(at + lane / 2, end - 1) + 1]);
            const uvec4 halves = uvec4(LOAD4(bits, bitsOf * 4 + (tile >> 1 & 1) * 2 + (lane & 1)));
            const bvec4 exist = exists4(query, at + lane / 2 < end ? queries : 0);
            const uvec4 qBase = QUERY_ROWS(lane);
            const uvec4 own = firstQuery + min(uvec4(query) + uvec4(0, 1, 2, 3), uvec4(queries - 1));
            const vec4 s0 = LOAD4(statistics, own.x), s1 = LOAD4(statistics, own.y), s2 = LOAD4(statistics, own.z),
                       s3 = LOAD4(statistics, own.w);
            const vec4 maximum = vec4(s0.x, s1.x, s2.x, s3.x), inverse = vec4(s0.y, s1.y, s2.y, s3.y), delta = vec4(s0.z, s1.z, s2.z, s3.z);
            LOAD_BIAS(near, head, int(row) - int(query + 3) + int(queries) - 1);
            vec4 score[WIDTH], product[WIDTH];
            [[unroll]] for (uint i = 0; i < WIDTH; ++i) score[i] = product[i] = vec4(0.0);
            ADD_DOTS(score, k, base, q, qBase, headVectors);
            if (HAS_LABELS == 1u) {
                const uint of = (lane & 1) * 4;
                for (uint d = 0; d < headVectors; ++d) {
                    const vec4 q0 = LOAD4(q, qBase.x + d), q1 = LOAD4(q, qBase.y + d), q2 = LOAD4(q, qBase.z + d), q3 = LOAD4(q, qBase.w + d);
                    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
                        const uint key = (tile & 3) * 8 + i;
                        const uvec4 cells = uvec4(LABEL(bitsOf, of, key), LABEL(bitsOf, of + 1, key), LABEL(bitsOf, of + 2, key),
                                                  LABEL(bitsOf, of + 3, key));
                        const uvec4 vector = (head * labelCount + cells) * headVectors + d;
                        score[i] += vec4(dot(q0, LOAD4(vectors, vector.x)), dot(q1, LOAD4(vectors, vector.y)),
                                         dot(q2, LOAD4(vectors, vector.z)), dot(q3, LOAD4(vectors, vector.w)));
                    }
                }
            }
            ADD_DOTS(product, v, base, dz, qBase, headVectors);
            [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
                vec4 cells = score[i] * (scale * LOG2_E) - maximum;
                if (HAS_BIAS == 1u) cells += vec4(near[i + 3], near[i + 2], near[i + 1], near[i]);
                const bvec4 visible = and4(exist, shown4(halves, uvec4((tile & 1) * 8 + i)));
                const vec4 p = exp2(mix(vec4(MASKED), cells, visible)) * inverse;
                score[i] = p * (product[i] - delta) * scale;
                product[i] = p;
            }
            ADD_MIXED(k0, k1, score, q, f, QUERY_ROWS);
            ADD_MIXED(v0, v1, product, dz, f, QUERY_ROWS);
        }
    }
    [[unroll]] for (uint i = 0; i < WIDTH; ++i)
        if (row + i < keys) {
            STORE_MIXED(dk, k0, k1, f, i, (firstKey + row + i) * headVectors);
            STORE_MIXED(dv, v0, v1, f, i, (firstKey + row + i) * headVectors);
        }
}
