#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : enable
#include "tensor.glsl"
#include "lanes8.glsl"
#include "attention.glsl"

// Maximum of each row's scores in powers of two and 1 / the sum of their exponentials, in one online pass: eight rows of a band in
// a set of lanes, 32 keys at a time. Grid ceil(rows / (8 L)).
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push { ATTENTION_PUSH };
INPUT4(1, q);
INPUT4(2, k);
INPUT_I(3, queryPosition);
INPUT_I(4, keyPosition);
INPUT_F(5, slopes);
INPUT_I(6, view);
OUTPUT4(7, statistics); // [rows of a band, 4]
const uint BLOCKS = 1;
#include "attention_products.glsl"
#include "lens.glsl"

void main() {
    const uint lane = laneOf(), head = VIEW_HEAD, group = head / (heads / groups);
    const uint liveQueries = liveCount(queries, queryLiveSlot), liveKeys = liveCount(keys, keyLiveSlot);
    const uint base = (gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * WIDTH;
    if (base >= VIEW_ROW_COUNT) return;
    LENS_ROWS(base, liveQueries)
    const float slope = slopes[head];

    float maximum[WIDTH], sum[WIDTH];
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        maximum[i] = NOTHING_SEEN;
        sum[i] = 0.0;
    }
    // A loop over stretches: software Vulkan counts to 65,535 only.
    for (uint first = 0; first < liveKeys; first += 32) {
        const uvec4 keys4 = uvec4(first + lane * 4) + uvec4(0, 1, 2, 3), there = min(keys4, uvec4(liveKeys - 1));
        const ivec4 keyAt = ivec4(keyPosition[there.x], keyPosition[there.y], keyPosition[there.z], keyPosition[there.w]);
        // A loop of at most one round: software Vulkan executes both sides of a branch, but not a loop that no lane is in.
        for (bool isDue = isReached(keyAt, keys4, liveKeys, oldest, newest); isDue; isDue = false) {
            vec4 score[WIDTH];
            [[unroll]] for (uint i = 0; i < WIDTH; ++i) score[i] = vec4(0.0);
            const uvec4 kBase = (there * groups + group) * headVectors;
            ADD_DOTS(score, q, qBase, k, kBase, headVectors);
            [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
                // Lanes keep maxima of their own until the end.
                const vec4 own = maskedScores(score[i], slope, SHUFFLE(rowPosition, i), keyAt, keys4, liveKeys);
                const float larger = max(maximum[i], max(max(own.x, own.y), max(own.z, own.w)));
                const vec4 p = exp2(own - larger);
                sum[i] = sum[i] * exp2(maximum[i] - larger) + (p.x + p.y + p.z + p.w);
                maximum[i] = larger;
            }
        }
    }
    vec4 own = vec4(0.0);
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        const float largest = maxOfLanes(vec4(maximum[i]));
        const float total = sumOfLanes(sum[i] * exp2(maximum[i] - largest));
        if (lane == i && largest > NOTHING_SEEN) own.xy = vec2(largest, 1.0 / total);
    }
    if (base + lane < VIEW_ROW_COUNT) statistics[base + lane] = own;
}
