#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "lanes8.glsl"
#include "attention.glsl"
#include "attention_gradient.glsl"

// dq: eight queries of one head per set of lanes; also z . dz of every row, for the keys.
INPUT4(1, q);
INPUT4(2, k);
INPUT4(3, v);
INPUT_I(4, queryPosition);
layout(std430, binding = 5) readonly buffer keyPositionBuffer { ivec4 keyPosition4[]; };
INPUT_F(6, gates);
INPUT4(7, z);
INPUT4(8, statistics); // of the attention
INPUT4(9, dz);
OUTPUT4(10, dq);
OUTPUT4(11, statisticsWithProduct);

void main() {
    const uint lane = laneOf(), head = gl_WorkGroupID.y;
    const uvec3 tile = tileOf(gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y, queries);
    const uint row = tile.x, endRow = tile.z, first = tile.y;
    if (row >= queries) return;
    const uint end = sequence == 0u ? keys : min(first + sequence, keys);
    const uint own = min(row + lane, endRow - 1), base = (own * heads + head) * headVectors;
    const uint keyStride = groups * headVectors, headBase = groupOf(head) * headVectors;
    const int rowPosition = queryPosition[own];
    const int oldest = minOfLanes(rowPosition), newest = maxOfLanes(rowPosition);
    vec4 statisticsOfRow = LOAD4(statistics, head * queries + own);
    for (uint d = 0; d < headVectors; ++d) statisticsOfRow.z += dot(LOAD4(z, base + d), LOAD4(dz, base + d));
    if (gl_WorkGroupID.z == 0 && row + lane < endRow) statisticsWithProduct[head * queries + row + lane] = statisticsOfRow;
    const float gate = gates[head];
    const Features f = featuresOf(lane);
#define KEY_ROWS(n) (min(uvec4((begin + (n)) * 4) + uvec4(0, 1, 2, 3), uvec4(end - 1)) * keyStride + headBase)

    vec4 sum0[WIDTH], sum1[WIDTH];
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) sum0[i] = sum1[i] = vec4(0.0);
#define REACHED(vector) reached4(oldest, newest, keyPosition4[min(vector, (end - 1) / 4)], exists4(vector, end))
    uint begin = first / 4;
    SKIP_TO_REACHED(begin, end, REACHED);
    while (begin * 4 < end) {
        const uint vector = begin + lane;
        const ivec4 keyAt = keyPosition4[min(vector, (end - 1) / 4)];
        const bvec4 exist = exists4(vector, end);
        const uvec4 kBase = KEY_ROWS(lane);
        vec4 score[WIDTH], product[WIDTH];
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) score[i] = product[i] = vec4(0.0);
        ADD_DOTS(score, q, base, k, kBase, headVectors);
        ADD_DOTS(product, dz, base, v, kBase, headVectors);
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
            const vec3 s = vec3(SHUFFLE(statisticsOfRow.x, i), SHUFFLE(statisticsOfRow.y, i), SHUFFLE(statisticsOfRow.z, i));
            const vec4 p = exp2(mix(vec4(MASKED), score[i] * (scale * LOG2_E) - s.x, visible4(SHUFFLE(rowPosition, i), keyAt, exist))) * s.y;
            score[i] = p * (gate * product[i] - s.z) * scale;
        }
        ADD_MIXED(sum0, sum1, score, k, f, KEY_ROWS);
        begin += WIDTH;
        SKIP_TO_REACHED(begin, end, REACHED);
    }
    [[unroll]] for (uint i = 0; i < WIDTH; ++i)
        if (row + i < endRow) STORE_MIXED(dq, sum0, sum1, f, i, ((row + i) * heads + head) * headVectors);
}
