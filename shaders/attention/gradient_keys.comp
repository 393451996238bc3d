#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "lanes8.glsl"
#include "attention.glsl"
#include "attention_gradient.glsl"

// dk and dv: eight keys of one key/value head per set of lanes, against the queries of every head that shares it.
INPUT4(1, q);
INPUT4(2, k);
INPUT4(3, v);
layout(std430, binding = 4) readonly buffer queryPositionBuffer { ivec4 queryPosition4[]; };
INPUT_I(5, keyPosition);
INPUT_F(6, gates);
INPUT4(7, dz);
INPUT4(8, statistics); // maximum, 1 / sum and z . dz of every query
OUTPUT4(9, dk);
OUTPUT4(10, dv);

// Which of four queries see a key.
bvec4 visibleBy4(ivec4 queryAt, int keyAt, bvec4 exist) {
    const bvec4 past = lessThanEqual(ivec4(keyAt), queryAt);
    const bvec4 near = lessThan(queryAt - keyAt, ivec4(window));
    return bvec4(exist.x && (causal == 0u || past.x) && (window == 0u || near.x),
                 exist.y && (causal == 0u || past.y) && (window == 0u || near.y),
                 exist.z && (causal == 0u || past.z) && (window == 0u || near.z),
                 exist.w && (causal == 0u || past.w) && (window == 0u || near.w));
}

void main() {
    const uint lane = laneOf(), group = gl_WorkGroupID.y;
    const uvec3 tile = tileOf(gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y, keys);
    const uint row = tile.x, endRow = tile.z, first = tile.y;
    if (row >= keys) return;
    const uint end = sequence == 0u ? queries : min(first + sequence, queries);
    const uint own = min(row + lane, endRow - 1), base = (own * groups + group) * headVectors;
    const uint queryStride = heads * headVectors, share = heads / groups;
    const int rowPosition = keyPosition[own];
    const int oldest = minOfLanes(rowPosition), newest = maxOfLanes(rowPosition);
    const Features f = featuresOf(lane);
#define QUERY_ROWS(n) (min(uvec4((begin + (n)) * 4) + uvec4(0, 1, 2, 3), uvec4(end - 1)) * queryStride + head * headVectors)
#define REACHED(vector) reachedBy4(oldest, newest, queryPosition4[min(vector, (end - 1) / 4)], exists4(vector, end))

    vec4 k0[WIDTH], k1[WIDTH], v0[WIDTH], v1[WIDTH];
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) k0[i] = k1[i] = v0[i] = v1[i] = vec4(0.0);
    for (uint head = group * share; head < (group + 1) * share; ++head) {
        const float gate = gates[head];
        uint begin = first / 4;
        SKIP_TO_REACHED(begin, end, REACHED);
        while (begin * 4 < end) {
            const uint vector = begin + lane;
            const ivec4 queryAt = queryPosition4[min(vector, (end - 1) / 4)];
            const bvec4 exist = exists4(vector, end);
            const uvec4 qBase = QUERY_ROWS(lane);
            const uvec4 at = head * queries + min(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(end - 1));
            const vec4 s0 = LOAD4(statistics, at.x), s1 = LOAD4(statistics, at.y), s2 = LOAD4(statistics, at.z), s3 = LOAD4(statistics, at.w);
            const vec4 maximum = vec4(s0.x, s1.x, s2.x, s3.x), inverse = vec4(s0.y, s1.y, s2.y, s3.y), delta = vec4(s0.z, s1.z, s2.z, s3.z);
            vec4 score[WIDTH], product[WIDTH];
            [[unroll]] for (uint i = 0; i < WIDTH; ++i) score[i] = product[i] = vec4(0.0);
            ADD_DOTS(score, k, base, q, qBase, headVectors);
            ADD_DOTS(product, v, base, dz, qBase, headVectors);
            [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
                const vec4 p =
                    exp2(mix(vec4(MASKED), score[i] * (scale * LOG2_E) - maximum, visibleBy4(queryAt, SHUFFLE(rowPosition, i), exist))) * inverse;
                score[i] = p * (gate * product[i] - delta) * scale;
                product[i] = p * gate;
            }
            ADD_MIXED(k0, k1, score, q, f, QUERY_ROWS);
            ADD_MIXED(v0, v1, product, dz, f, QUERY_ROWS);
            begin += WIDTH;
            SKIP_TO_REACHED(begin, end, REACHED);
        }
    }
    [[unroll]] for (uint i = 0; i < WIDTH; ++i)
        if (row + i < endRow) {
            STORE_MIXED(dk, k0, k1, f, i, ((row + i) * groups + group) * headVectors);
            STORE_MIXED(dv, v0, v1, f, i, ((row + i) * groups + group) * headVectors);
        }
}
