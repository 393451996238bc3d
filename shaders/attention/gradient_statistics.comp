#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "lanes8.glsl"
#include "attention.glsl"
#include "attention_gradient.glsl"

// Per query and head: maximum of the scores (times log2 e), 1 / sum of their exponentials, and z . dz.
INPUT4(1, q);
INPUT4(2, k);
INPUT_I(3, queryPosition);
layout(std430, binding = 4) readonly buffer keyPositionBuffer { ivec4 keyPosition4[]; };
INPUT4(5, z);
INPUT4(6, dz);
OUTPUT4(7, statistics);

void main() {
    const uint lane = laneOf(), head = gl_WorkGroupID.y;
    const uint row = (gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * WIDTH;
    if (row >= queries) return;
    const uint first = sequence == 0u ? 0u : row / sequence * sequence;
    const uint end = sequence == 0u ? keys : min(first + sequence, keys);
    const uint own = min(row + lane, queries - 1), base = (own * heads + head) * headVectors;
    const uint keyStride = groups * headVectors, headBase = groupOf(head) * headVectors;
    const int rowPosition = queryPosition[own];
    const int oldest = minOfLanes(rowPosition), newest = maxOfLanes(rowPosition);

    float delta = 0.0;
    for (uint d = 0; d < headVectors; ++d) delta += dot(LOAD4(z, base + d), LOAD4(dz, base + d));
    float maximum[WIDTH], sum[WIDTH];
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        maximum[i] = NOTHING_SEEN;
        sum[i] = 0.0;
    }
    for (uint begin = first / 4; begin * 4 < end; begin += WIDTH) {
        const uint vector = begin + lane;
        const ivec4 keyAt = keyPosition4[min(vector, (end - 1) / 4)];
        const bvec4 exist = exists4(vector, end);
        vec4 score[WIDTH];
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) score[i] = vec4(0.0);
        const uvec4 kBase = min(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(end - 1)) * keyStride + headBase;
        // A block that no row sees is skipped: as a loop that ends at once, since both sides of a branch are executed.
        const uint depth = anyOfLanes(any(reached4(oldest, newest, keyAt, exist))) ? headVectors : 0u;
        ADD_DOTS(score, q, base, k, kBase, depth);
        for (uint once = 0; once < min(depth, 1u); ++once) {
            [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
                const vec4 masked = mix(vec4(MASKED), score[i] * (scale * LOG2_E), visible4(SHUFFLE(rowPosition, i), keyAt, exist));
                const float larger = max(maximum[i], maxOfLanes(masked));
                const vec4 p = exp2(masked - larger);
                sum[i] = sum[i] * exp2(maximum[i] - larger) + (p.x + p.y + p.z + p.w);
                maximum[i] = larger;
            }
        }
    }
    vec4 result = vec4(0.0);
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        const float total = sumOfLanes(sum[i]);
        if (lane == i) result = vec4(maximum[i], maximum[i] <= NOTHING_SEEN ? 0.0 : 1.0 / total, delta, 0.0);
    }
    if (row + lane < queries) statistics[head * queries + row + lane] = result;
}
