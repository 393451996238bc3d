#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "lanes8.glsl"
#include "cluster_attention.glsl"

// What one cluster adds to the gradients of u(k), up to a number that all features share (cluster_rows takes the mean away), and of v:
// eight keys per set of lanes, against 32 queries at a time.
INPUT_F(7, counts);
INPUT_F(8, statistics);
INPUT4(9, dz);
INPUT_F(10, deltas);
layout(std430, binding = 11) buffer DuBuffer { vec4 du[]; };
layout(std430, binding = 12) buffer DvBuffer { vec4 dv[]; };

void main() {
    const uint lane = laneOf(), row = (gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * 8;
    if (row >= members) return;
    const uint first = gl_WorkGroupID.y * tokens, token = keysAt(fourOf(row + lane))[partOf(row + lane)];
    const uint base = (first + token) * headVectors;
    const float factor = sphereOf(INVERSE_K, token) * scale * LOG2_E, offset = sphereOf(MEAN_K, token) * float(width);
    const Features f = featuresOf(lane);
#define QUERY_ROWS(n) ((first + queriesAt(begin / 4 + (n))) * headVectors)
#define ROW_OF(i) ((first + SHUFFLE(token, i)) * headVectors)
#define OF_FOUR(list, at) vec4(list[(at).x], list[(at).y], list[(at).z], list[(at).w])

    vec4 k0[WIDTH], k1[WIDTH], v0[WIDTH], v1[WIDTH];
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) k0[i] = k1[i] = v0[i] = v1[i] = vec4(0.0);
    for (uint begin = causal == 1u ? row : 0; begin < members; begin += 32) {
        const uint place = begin + lane * 4;
        const uvec4 queries = queriesAt(begin / 4 + lane), qBase = QUERY_ROWS(lane), fourth = uvec4(0, 1, 2, 3);
        const uvec4 places = min(uvec4(place) + fourth, uvec4(members - 1));
        const vec4 meanQ = spheresOf(MEAN_Q, queries), inverseQ = spheresOf(INVERSE_Q, queries);
        const vec4 maximum = OF_FOUR(statistics, statisticAt(0, 0) + places), inverse = OF_FOUR(statistics, statisticAt(1, 0) + places),
                   delta = OF_FOUR(deltas, deltaAt(0) + places),
                   share = 1.0 / max(OF_FOUR(counts, gl_WorkGroupID.y * paddedTo4(tokens) + queries), vec4(1.0)); // padding has any count
        const bvec4 exist = existing4(place, members);
        vec4 score[WIDTH], product[WIDTH];
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) score[i] = product[i] = vec4(0.0);
        ADD_DOTS(score, k, base, q, qBase, headVectors);
        ADD_DOTS(product, v, base, dz, qBase, headVectors);
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
            bvec4 visible = exist;
            if (causal == 1u) visible = and4(visible, lessThanEqual(uvec4(SHUFFLE(token, i)), queries));
            const vec4 cells = (score[i] - SHUFFLE(offset, i) * meanQ) * inverseQ * SHUFFLE(factor, i) - maximum;
            const vec4 p = exp2(mix(vec4(MASKED), cells, visible)) * inverse;
            score[i] = p * (product[i] * share - delta) * scale * inverseQ;
            product[i] = p * share;
        }
        ADD_MIXED(k0, k1, score, q, f, QUERY_ROWS);
        ADD_MIXED(v0, v1, product, dz, f, QUERY_ROWS);
    }
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        const uint to = ROW_OF(i), at = to + f.first + f.feature;
        if (row + i < members) {
            if (f.keySet == 0 && f.feature < f.count) {
                k0[i] += du[at];
                v0[i] += dv[at];
            }
            if (BLOCKS > 1 && f.feature + WIDTH < f.count) {
                k1[i] += du[at + WIDTH];
                v1[i] += dv[at + WIDTH];
            }
            STORE_MIXED(du, k0, k1, f, i, to);
            STORE_MIXED(dv, v0, v1, f, i, to);
        }
    }
}
