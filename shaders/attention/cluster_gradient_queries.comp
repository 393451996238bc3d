#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "lanes8.glsl"
#include "cluster_attention.glsl"

// What one cluster adds to the gradient of u(q), and delta = sum over s of p(t,s) dp(t,s) of its members. With P = sum of p u(k) and
// A = sum of p dp u(k), the gradient is A - delta P. A number that all features share may be missing: cluster_rows takes the mean away.
INPUT_F(7, counts);
INPUT_F(8, statistics);
INPUT4(9, dz);
layout(std430, binding = 10) buffer DuBuffer { vec4 du[]; };
OUTPUT_F(11, deltas);

void main() {
    const uint lane = laneOf(), row = (gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * 8;
    if (row >= members) return;
    const uint first = gl_WorkGroupID.y * tokens, token = queriesAt(fourOf(row + lane))[partOf(row + lane)];
    const uint base = (first + token) * headVectors;
    const float factor = sphereOf(INVERSE_Q, token) * scale * LOG2_E, offset = sphereOf(MEAN_Q, token) * float(width);
    const float share = 1.0 / counts[gl_WorkGroupID.y * paddedTo4(tokens) + token];
    const uint place = min(row + lane, members - 1);
    const float maximum = statistics[statisticAt(0, place)], inverse = statistics[statisticAt(1, place)];
    const Features f = featuresOf(lane);
#define KEY_ROWS(n) ((first + keysAt(begin / 4 + (n))) * headVectors)
#define ROW_OF(i) ((first + SHUFFLE(token, i)) * headVectors)

    float delta[WIDTH];
    vec4 a0[WIDTH], a1[WIDTH], p0[WIDTH], p1[WIDTH];
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        delta[i] = 0.0;
        a0[i] = a1[i] = p0[i] = p1[i] = vec4(0.0);
    }
    const uint end = causal == 1u ? min(row + 8, members) : members;
    for (uint begin = 0; begin < end; begin += 32) {
        const uvec4 keys = keysAt(begin / 4 + lane), kBase = KEY_ROWS(lane);
        const vec4 meanK = spheresOf(MEAN_K, keys), inverseK = spheresOf(INVERSE_K, keys);
        const bvec4 exist = existing4(begin + lane * 4, end);
        vec4 score[WIDTH], product[WIDTH];
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) score[i] = product[i] = vec4(0.0);
        ADD_DOTS(score, q, base, k, kBase, headVectors);
        ADD_DOTS(product, dz, base, v, kBase, headVectors);
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
            bvec4 visible = exist;
            if (causal == 1u) visible = and4(visible, lessThanEqual(keys, uvec4(SHUFFLE(token, i))));
            const vec4 cells = mix(vec4(MASKED), (score[i] - SHUFFLE(offset, i) * meanK) * inverseK * SHUFFLE(factor, i), visible);
            const vec4 p = exp2(cells - SHUFFLE(maximum, i)) * SHUFFLE(inverse, i), dp = product[i] * SHUFFLE(share, i);
            delta[i] += dot(p, dp);
            product[i] = p * dp * inverseK;
            score[i] = p * inverseK;
        }
        ADD_MIXED(a0, a1, product, k, f, KEY_ROWS);
        ADD_MIXED(p0, p1, score, k, f, KEY_ROWS);
    }
    float ofRow = 0.0;
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        const float all = sumOfLanes(delta[i]);
        const uint to = ROW_OF(i), at = to + f.first + f.feature;
        if (lane == i) ofRow = all;
        a0[i] = (a0[i] - all * p0[i]) * scale;
        a1[i] = (a1[i] - all * p1[i]) * scale;
        if (row + i < members) {
            if (f.keySet == 0 && f.feature < f.count) a0[i] += du[at];
            if (BLOCKS > 1 && f.feature + WIDTH < f.count) a1[i] += du[at + WIDTH];
            STORE_MIXED(du, a0, a1, f, i, to);
        }
    }
    if (gl_WorkGroupID.z == 0 && row + lane < paddedTo4(members)) deltas[deltaAt(row + lane)] = row + lane < members ? ofRow : 0.0;
}
