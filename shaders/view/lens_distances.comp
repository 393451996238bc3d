#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "lanes8.glsl"
#include "attention.glsl"

// How much of the weight of sixteen rows goes how far: bin 0 is the query itself, bin b the keys 2^(b-1) to 2^b - 1 positions away.
// Grid ceil(rows / (16 L)).
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push { ATTENTION_PUSH };
INPUT4(1, q);
INPUT4(2, k);
INPUT_I(3, queryPosition);
INPUT_I(4, keyPosition);
INPUT_F(5, slopes);
INPUT4(6, statistics);
INPUT_I(7, view);
OUTPUT_F(8, weights); // [rows / 16, BINS]
const uint SETS = 2, BINS = 32;
#include "lens.glsl"

int leastOfLanes(int x) {
    x = min(x, subgroupShuffleXor(x, 1));
    x = min(x, subgroupShuffleXor(x, 2));
    return min(x, subgroupShuffleXor(x, 4));
}

uint binOf(int distance) { return uint(findMSB(distance) + 1); }

void main() {
    const uint lane = laneOf(), head = VIEW_HEAD, group = head / (heads / groups);
    const uint liveQueries = liveCount(queries, queryLiveSlot), liveKeys = liveCount(keys, keyLiveSlot);
    const uint item = gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y, first = item * WIDTH * SETS;
    if (first >= VIEW_ROW_COUNT) return;
    const Rows rows = rowsOf(first, head, liveQueries);
    const float slope = slopes[head];
    vec2 row[SETS]; // maximum and 1 / sum
    [[unroll]] for (uint s = 0; s < SETS; ++s) {
        row[s] = LOAD4(statistics, VIEW_STATISTICS + min(rows.ordinal[s], VIEW_ROW_COUNT - 1) * VIEW_STATISTICS_STEP).xy;
        if (rows.ordinal[s] >= VIEW_ROW_COUNT) row[s].y = 0.0;
    }
    float sums[BINS];
    [[unroll]] for (uint b = 0; b < BINS; ++b) sums[b] = 0.0;
    for (uint begin = nextReached(0, 0, liveKeys, liveKeys, rows.oldest, rows.newest); begin < liveKeys;
         begin = nextReached(0, begin + 32, liveKeys, liveKeys, rows.oldest, rows.newest)) {
        const uvec4 keys4 = uvec4(begin + lane * 4) + uvec4(0, 1, 2, 3), there = min(keys4, uvec4(liveKeys - 1));
        const ivec4 keyAt = ivec4(keyPosition[there.x], keyPosition[there.y], keyPosition[there.z], keyPosition[there.w]);
        vec4 cells[WIDTH * SETS];
        [[unroll]] for (uint i = 0; i < WIDTH * SETS; ++i) cells[i] = vec4(0.0);
        const uvec4 kBase = (there * groups + group) * headVectors;
        ADD_SCORES(cells, rows, kBase);
        [[unroll]] for (uint i = 0; i < WIDTH * SETS; ++i) {
            const vec4 own = maskedScores(cells[i], slope, SHUFFLE(rows.position[i / WIDTH], i % WIDTH), keyAt, keys4, liveKeys);
            cells[i] = exp2(own - SHUFFLE(row[i / WIDTH].x, i % WIDTH)) * SHUFFLE(row[i / WIDTH].y, i % WIDTH);
        }
        // Far from the diagonal all of the block lies in one bin or two.
        const int oldest = leastOfLanes(min(min(keyAt.x, keyAt.y), min(keyAt.z, keyAt.w)));
        const int newest = -leastOfLanes(-max(max(keyAt.x, keyAt.y), max(keyAt.z, keyAt.w)));
        const uint nearest = binOf(max(max(rows.oldest - newest, oldest - rows.newest), 0));
        const uint farthest = binOf(max(rows.newest - oldest, newest - rows.oldest));
        for (uint b = nearest; b <= farthest; ++b) {
            float sum = 0.0;
            [[unroll]] for (uint i = 0; i < WIDTH * SETS; ++i) {
                const ivec4 away = abs(ivec4(SHUFFLE(rows.position[i / WIDTH], i % WIDTH)) - keyAt);
                sum += dot(cells[i], vec4(equal(findMSB(away) + 1, ivec4(b))));
            }
            sums[b] += sum;
        }
    }
    [[unroll]] for (uint b = 0; b < BINS; ++b) {
        const float sum = sumOfLanes(sums[b]);
        if (lane == b % WIDTH) weights[item * BINS + b] = sum;
    }
}
