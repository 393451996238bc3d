#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "lanes8.glsl"
#include "bucket_attention.glsl"

// One round of dq, added to the rounds before.
INPUT4(1, q);
INPUT4(2, k);
INPUT4(3, v);
INPUT_F(6, statistics);
INPUT_F(7, products); // z . dz of every row, in the first of four
INPUT4(8, dz);
layout(std430, binding = 9) buffer DqBuffer { vec4 dq[]; };

void main() {
    const uint lane = laneOf(), row = (gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * 8;
    if (row >= tokens) return;
    const uint first = gl_WorkGroupID.y * tokens, token = tokenAt(row + lane), base = (first + token) * headVectors;
    const int own = codeOf(round, token), least = SHUFFLE(own, 0), most = SHUFFLE(own, 7);
    const uint last = 4 * (first + token) + 2 * ((rounds - 1) & 1);
    const vec3 statisticsOfRow = vec3(statistics[last], statistics[last + 1], products[4 * (first + token)]);
    const Features f = featuresOf(lane);
#define KEY_ROWS(n) ((first + tokensAt(begin / 4 + (n))) * headVectors)
#define ROW_OF(i) ((first + SHUFFLE(token, i)) * headVectors)

    vec4 sum0[WIDTH], sum1[WIDTH];
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        const uint at = ROW_OF(i) + f.first + f.feature;
        sum0[i] = sum1[i] = vec4(0.0);
        if (round > 0 && f.keySet == 0) {
            if (f.feature < f.count) sum0[i] = dq[at];
            if (BLOCKS > 1 && f.feature + WIDTH < f.count) sum1[i] = dq[at + WIDTH];
        }
    }
    const uint end = min(causal == 1u ? row + 8 : (row / chunk + 1) * chunk, tokens);
    uint begin = (max(row / chunk, 1) - 1) * chunk;
    while (begin + 32 < end && codeAt(begin + 31) + 1 < least) begin += 32;
    for (; begin < end && codeAt(begin) <= most; begin += 32) {
        const uvec4 keys = tokensAt(begin / 4 + lane), kBase = KEY_ROWS(lane);
        const ivec4 keyCodes = codesOf(round, keys);
        const bvec4 exist = existing4(begin + lane * 4, end);
        bvec4 visible[WIDTH];
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
            const uint query = SHUFFLE(token, i);
            visible[i] = and4(exist, meets4(ivec4(SHUFFLE(own, i)) - keyCodes));
            if (causal == 1u) visible[i] = and4(visible[i], lessThanEqual(keys, uvec4(query)));
        }
        for (uint other = 0; other < round; ++other) {
            const int ownOther = codeOf(other, token);
            const ivec4 others = codesOf(other, keys);
            [[unroll]] for (uint i = 0; i < WIDTH; ++i)
                visible[i] = and4(visible[i], not(meets4(ivec4(SHUFFLE(ownOther, i)) - others)));
        }
        vec4 score[WIDTH], product[WIDTH];
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) score[i] = product[i] = vec4(0.0);
        ADD_DOTS(score, q, base, k, kBase, headVectors);
        ADD_DOTS(product, dz, base, v, kBase, headVectors);
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
            const vec3 s = vec3(SHUFFLE(statisticsOfRow.x, i), SHUFFLE(statisticsOfRow.y, i), SHUFFLE(statisticsOfRow.z, i));
            const vec4 penalty = mix(vec4(0.0), vec4(OWN_PENALTY), equal(keys, uvec4(SHUFFLE(token, i))));
            const vec4 cells = mix(vec4(MASKED), score[i] * (scale * LOG2_E) - penalty - s.x, visible[i]);
            score[i] = exp2(cells) * s.y * (product[i] - s.z) * scale;
        }
        ADD_MIXED(sum0, sum1, score, k, f, KEY_ROWS);
    }
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        const uint to = ROW_OF(i);
        if (row + i < tokens) STORE_MIXED(dq, sum0, sum1, f, i, to);
    }
}
