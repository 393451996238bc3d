#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "lanes8.glsl"
#include "cluster_attention.glsl"

// What one cluster adds to z.
INPUT_F(7, counts); // [B,H,T]
layout(std430, binding = 8) buffer ZBuffer { vec4 z[]; };
OUTPUT_F(9, statistics);

void main() {
    const uint lane = laneOf(), row = (gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * 8;
    if (row >= members) return;
    const uint first = gl_WorkGroupID.y * tokens, token = queriesAt(fourOf(row + lane))[partOf(row + lane)];
    const uint base = (first + token) * headVectors;
    const float factor = sphereOf(INVERSE_Q, token) * scale * LOG2_E, offset = sphereOf(MEAN_Q, token) * float(width);
    const float share = 1.0 / counts[gl_WorkGroupID.y * paddedTo4(tokens) + token];
    const Features f = featuresOf(lane);
#define KEY_ROWS(n) ((first + keysAt(begin / 4 + (n))) * headVectors)
#define ROW_OF(i) ((first + SHUFFLE(token, i)) * headVectors)

    float maximum[WIDTH], sum[WIDTH];
    vec4 z0[WIDTH], z1[WIDTH];
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        maximum[i] = NOTHING_SEEN;
        sum[i] = 0.0; // of this lane's keys; the lanes' sums are added up in the end
        z0[i] = z1[i] = vec4(0.0);
    }
    const uint end = causal == 1u ? min(row + 8, members) : members;
    for (uint begin = 0; begin < end; begin += 32) {
        const uvec4 keys = keysAt(begin / 4 + lane), kBase = KEY_ROWS(lane);
        const vec4 meanK = spheresOf(MEAN_K, keys), inverseK = spheresOf(INVERSE_K, keys);
        const bvec4 exist = existing4(begin + lane * 4, end);
        vec4 score[WIDTH];
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) score[i] = vec4(0.0);
        ADD_DOTS(score, q, base, k, kBase, headVectors);
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
            bvec4 visible = exist;
            if (causal == 1u) visible = and4(visible, lessThanEqual(keys, uvec4(SHUFFLE(token, i))));
            const vec4 cells = mix(vec4(MASKED), (score[i] - SHUFFLE(offset, i) * meanK) * inverseK * SHUFFLE(factor, i), visible);
            const float larger = max(maximum[i], maxOfLanes(cells)), keep = exp2(maximum[i] - larger);
            maximum[i] = larger;
            score[i] = exp2(cells - larger);
            sum[i] = sum[i] * keep + (score[i].x + score[i].y + score[i].z + score[i].w);
            z0[i] *= keep;
            if (BLOCKS > 1) z1[i] *= keep;
        }
        ADD_MIXED(z0, z1, score, v, f, KEY_ROWS);
    }

    vec2 statisticsOfRow = vec2(0.0);
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        const float inverse = 1.0 / sumOfLanes(sum[i]), factorOfRow = inverse * SHUFFLE(share, i); // a member sees itself or another
        const uint to = ROW_OF(i), at = to + f.first + f.feature;
        if (lane == i) statisticsOfRow = vec2(maximum[i], inverse);
        z0[i] *= factorOfRow;
        z1[i] *= factorOfRow;
        if (row + i < members) {
            if (f.keySet == 0 && f.feature < f.count) z0[i] += z[at];
            if (BLOCKS > 1 && f.feature + WIDTH < f.count) z1[i] += z[at + WIDTH];
            STORE_MIXED(z, z0, z1, f, i, to);
        }
    }
    if (gl_WorkGroupID.z == 0 && row + lane < paddedTo4(members)) {
        const vec2 stored = row + lane < members ? statisticsOfRow : vec2(0.0);
        statistics[statisticAt(0, row + lane)] = stored.x;
        statistics[statisticAt(1, row + lane)] = stored.y;
    }
}
