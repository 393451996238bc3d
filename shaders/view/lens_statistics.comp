#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : enable
#include "tensor.glsl"
#include "lanes8.glsl"
#include "attention.glsl"

// Maximum of each row's scores in powers of two and 1 / the sum of their exponentials, in one online pass: sixteen rows of a
// band in a set of lanes, 32 keys at a time. Grid ceil(rows / (16 L)) x 1 x heads.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push {
    ATTENTION_PUSH
    uint rowsOfHead; // of the statistics
};
INPUT4(1, q);
INPUT4(2, k);
INPUT_I(3, queryPosition);
INPUT_I(4, keyPosition);
INPUT_F(5, slopes);
INPUT_I(6, view);
OUTPUT4(7, statistics); // [heads, rows of a band, 4]
const uint SETS = 2;
#include "lens.glsl"

void main() {
    const uint lane = laneOf(), head = VIEW_HEAD + gl_WorkGroupID.z, group = head / (heads / groups);
    const uint liveQueries = liveCount(queries, queryLiveSlot), liveKeys = liveCount(keys, keyLiveSlot);
    const uint first = (gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * WIDTH * SETS;
    if (first >= VIEW_ROW_COUNT) return;
    const Rows rows = rowsOf(first, head, liveQueries);
    const float slope = slopes[head];

    // Lanes keep maxima and sums of their own until the end.
    float maximum[WIDTH * SETS], sum[WIDTH * SETS];
    [[unroll]] for (uint i = 0; i < WIDTH * SETS; ++i) {
        maximum[i] = NOTHING_SEEN;
        sum[i] = 0.0;
    }
    for (uint begin = nextReached(0, 0, liveKeys, liveKeys, rows.oldest, rows.newest); begin < liveKeys;
         begin = nextReached(0, begin + 32, liveKeys, liveKeys, rows.oldest, rows.newest)) {
        const uvec4 keys4 = uvec4(begin + lane * 4) + uvec4(0, 1, 2, 3), there = min(keys4, uvec4(liveKeys - 1));
        const ivec4 keyAt = ivec4(keyPosition[there.x], keyPosition[there.y], keyPosition[there.z], keyPosition[there.w]);
        vec4 score[WIDTH * SETS];
        [[unroll]] for (uint i = 0; i < WIDTH * SETS; ++i) score[i] = vec4(0.0);
        const uvec4 kBase = (there * groups + group) * headVectors;
        ADD_SCORES(score, rows, kBase);
        [[unroll]] for (uint i = 0; i < WIDTH * SETS; ++i) {
            const vec4 own = maskedScores(score[i], slope, SHUFFLE(rows.position[i / WIDTH], i % WIDTH), keyAt, keys4, liveKeys);
            const float larger = max(maximum[i], max(max(own.x, own.y), max(own.z, own.w)));
            const vec4 p = exp2(own - larger);
            sum[i] = sum[i] * exp2(maximum[i] - larger) + (p.x + p.y + p.z + p.w);
            maximum[i] = larger;
        }
    }
    vec4 own[SETS];
    [[unroll]] for (uint s = 0; s < SETS; ++s) own[s] = vec4(0.0);
    [[unroll]] for (uint i = 0; i < WIDTH * SETS; ++i) {
        const float largest = maxOfLanes(vec4(maximum[i]));
        const float total = sumOfLanes(sum[i] * exp2(maximum[i] - largest));
        if (lane == i % WIDTH && largest > NOTHING_SEEN) own[i / WIDTH].xy = vec2(largest, 1.0 / total);
    }
    [[unroll]] for (uint s = 0; s < SETS; ++s)
        if (rows.ordinal[s] < VIEW_ROW_COUNT) statistics[gl_WorkGroupID.z * rowsOfHead + rows.ordinal[s]] = own[s];
}
