#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "lanes8.glsl"
#include "bucket_attention.glsl"

// One round of z, which goes on from the sums of the rounds before. Until the last round z is not divided by its sum. The statistics of
// a row lie in place `round & 1` of two: the maximum of its scores in powers of two, and the sum of their exponentials; after the last
// round 1 / the sum.
INPUT4(1, q);
INPUT4(2, k);
INPUT4(3, v);
layout(std430, binding = 6) buffer ZBuffer { vec4 z[]; };
layout(std430, binding = 7) buffer StatisticsBuffer { vec2 statistics[]; };

void main() {
    const uint lane = laneOf(), row = (gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * 8;
    if (row >= tokens) return;
    const uint first = gl_WorkGroupID.y * tokens, token = tokenAt(row + lane), base = (first + token) * headVectors;
    const int own = codeOf(round, token), least = SHUFFLE(own, 0), most = SHUFFLE(own, 7);
    const Features f = featuresOf(lane);
#define KEY_ROWS(n) ((first + tokensAt(begin / 4 + (n))) * headVectors)
#define ROW_OF(i) ((first + SHUFFLE(token, i)) * headVectors)

    float maximum[WIDTH], sum[WIDTH];
    vec4 z0[WIDTH], z1[WIDTH];
    const vec2 before = round > 0 ? statistics[2 * (first + token) + ((round - 1) & 1)] : vec2(NOTHING_SEEN, 0.0);
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        const float all = SHUFFLE(before.y, i);
        const uint at = ROW_OF(i) + f.first + f.feature;
        maximum[i] = SHUFFLE(before.x, i);
        sum[i] = lane == 0 ? all : 0.0; // the lanes' sums are added up in the end
        z0[i] = z1[i] = vec4(0.0);
        if (round > 0 && f.keySet == 0) {
            if (f.feature < f.count) z0[i] = z[at];
            if (BLOCKS > 1 && f.feature + WIDTH < f.count) z1[i] = z[at + WIDTH];
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
        vec4 score[WIDTH];
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) score[i] = vec4(0.0);
        ADD_DOTS(score, q, base, k, kBase, headVectors);
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
            const vec4 penalty = mix(vec4(0.0), vec4(OWN_PENALTY), equal(keys, uvec4(SHUFFLE(token, i))));
            const vec4 cells = mix(vec4(MASKED), score[i] * (scale * LOG2_E) - penalty, visible[i]);
            const float larger = max(maximum[i], maxOfLanes(cells)), keep = exp2(maximum[i] - larger);
            maximum[i] = larger;
            score[i] = exp2(cells - larger);
            sum[i] = sum[i] * keep + (score[i].x + score[i].y + score[i].z + score[i].w);
            z0[i] *= keep;
            if (BLOCKS > 1) z1[i] *= keep;
        }
        ADD_MIXED(z0, z1, score, v, f, KEY_ROWS);
    }

    const bool isLast = round + 1 == rounds;
    vec2 statisticsOfRow = vec2(0.0);
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        const float all = sumOfLanes(sum[i]), inverse = maximum[i] <= NOTHING_SEEN ? 0.0 : 1.0 / all, factor = isLast ? inverse : 1.0;
        const uint to = ROW_OF(i);
        if (lane == i) statisticsOfRow = vec2(maximum[i], isLast ? inverse : all);
        z0[i] *= factor;
        z1[i] *= factor;
        if (row + i < tokens) STORE_MIXED(z, z0, z1, f, i, to);
    }
    if (gl_WorkGroupID.z == 0 && row + lane < tokens) statistics[2 * (first + token) + (round & 1)] = statisticsOfRow;
}
