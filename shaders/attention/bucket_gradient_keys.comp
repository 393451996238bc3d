#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "lanes8.glsl"
#include "bucket_attention.glsl"

// One round of dk and dv, added to the rounds before: eight keys per set of lanes, against 32 queries of their chunk and the next.
INPUT4(1, q);
INPUT4(2, k);
INPUT4(3, v);
INPUT_F(6, statistics);
INPUT_F(7, products); // z . dz of every row, in the first of four
INPUT4(8, dz);
layout(std430, binding = 9) buffer DkBuffer { vec4 dk[]; };
layout(std430, binding = 10) buffer DvBuffer { vec4 dv[]; };

void main() {
    const uint lane = laneOf(), row = (gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * 8;
    if (row >= tokens) return;
    const uint first = gl_WorkGroupID.y * tokens, token = tokenAt(row + lane), base = (first + token) * headVectors;
    const int own = codeOf(round, token), least = SHUFFLE(own, 0), most = SHUFFLE(own, 7);
    const uint slot = 2 * ((rounds - 1) & 1);
    const Features f = featuresOf(lane);
#define QUERY_ROWS(n) ((first + tokensAt(begin / 4 + (n))) * headVectors)
#define ROW_OF(i) ((first + SHUFFLE(token, i)) * headVectors)
#define OF_FOUR(list, offset) vec4(list[at.x + offset], list[at.y + offset], list[at.z + offset], list[at.w + offset])

    vec4 k0[WIDTH], k1[WIDTH], v0[WIDTH], v1[WIDTH];
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        const uint at = ROW_OF(i) + f.first + f.feature;
        k0[i] = k1[i] = v0[i] = v1[i] = vec4(0.0);
        if (round > 0 && f.keySet == 0) {
            if (f.feature < f.count) {
                k0[i] = dk[at];
                v0[i] = dv[at];
            }
            if (BLOCKS > 1 && f.feature + WIDTH < f.count) {
                k1[i] = dk[at + WIDTH];
                v1[i] = dv[at + WIDTH];
            }
        }
    }
    const uint end = min((row / chunk + 2) * chunk, tokens);
    uint begin = causal == 1u ? row : row / chunk * chunk;
    while (begin + 32 < end && codeAt(begin + 31) < least) begin += 32;
    for (; begin < end && codeAt(begin) <= most + 1; begin += 32) {
        const uvec4 queries = tokensAt(begin / 4 + lane), qBase = QUERY_ROWS(lane);
        const ivec4 queryCodes = codesOf(round, queries);
        const bvec4 exist = existing4(begin + lane * 4, end);
        bvec4 visible[WIDTH];
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
            const uint key = SHUFFLE(token, i);
            visible[i] = and4(exist, meets4(queryCodes - SHUFFLE(own, i)));
            if (causal == 1u) visible[i] = and4(visible[i], lessThanEqual(uvec4(key), queries));
        }
        for (uint other = 0; other < round; ++other) {
            const int ownOther = codeOf(other, token);
            const ivec4 others = codesOf(other, queries);
            [[unroll]] for (uint i = 0; i < WIDTH; ++i)
                visible[i] = and4(visible[i], not(meets4(others - SHUFFLE(ownOther, i))));
        }
        const uvec4 at = (first + queries) * 4;
        const vec4 maximum = OF_FOUR(statistics, slot), inverse = OF_FOUR(statistics, slot + 1), delta = OF_FOUR(products, 0);
        vec4 score[WIDTH], product[WIDTH];
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) score[i] = product[i] = vec4(0.0);
        ADD_DOTS(score, k, base, q, qBase, headVectors);
        ADD_DOTS(product, v, base, dz, qBase, headVectors);
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
            const vec4 penalty = mix(vec4(0.0), vec4(OWN_PENALTY), equal(queries, uvec4(SHUFFLE(token, i))));
            const vec4 cells = mix(vec4(MASKED), score[i] * (scale * LOG2_E) - penalty - maximum, visible[i]);
            const vec4 p = exp2(cells) * inverse;
            score[i] = p * (product[i] - delta) * scale;
            product[i] = p;
        }
        ADD_MIXED(k0, k1, score, q, f, QUERY_ROWS);
        ADD_MIXED(v0, v1, product, dz, f, QUERY_ROWS);
    }
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        const uint to = ROW_OF(i);
        if (row + i < tokens) {
            STORE_MIXED(dk, k0, k1, f, i, to);
            STORE_MIXED(dv, v0, v1, f, i, to);
        }
    }
}
