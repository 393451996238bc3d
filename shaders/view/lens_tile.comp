#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "lanes8.glsl"
#include "attention.glsl"

// A band of the pattern, pooled: each pixel is the largest or the mean probability of all cells that it covers. A set of lanes takes
// eight rows, or those of one pixel, against a strip of keys, 32 at a time.
//
// Constants 2: the mean, not the largest. 4: pixels of one or two columns, which lie within a lane's four keys.
// Grid ceil(strips) x ceil(items of rows / L); a strip is 256 keys or one pixel, an item 8 rows or one pixel.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const uint IS_MEAN = 0;
layout(constant_id = 4) const uint IS_FINE = 0;
layout(push_constant) uniform Push {
    ATTENTION_PUSH
    uint stride; // of a row of pixels
};
INPUT4(1, q);
INPUT4(2, k);
INPUT_I(3, queryPosition);
INPUT_I(4, keyPosition);
INPUT_F(5, slopes);
INPUT4(6, statistics);
INPUT_I(7, view);
OUTPUT_F(8, pixels); // [rows, columns of pixels]
const uint BLOCKS = 1;
#include "attention_products.glsl"
#include "lens.glsl"

float joined(float a, float b) { return IS_MEAN == 1u ? a + b : max(a, b); }

// Over the lanes of a pixel of 2^level keys.
float overLanes(float x, uint level) {
    if (level > 2) x = joined(x, subgroupShuffleXor(x, 1));
    if (level > 3) x = joined(x, subgroupShuffleXor(x, 2));
    if (level > 4) x = joined(x, subgroupShuffleXor(x, 4));
    return x;
}

// What the mean of a pixel divides by: the cells that exist.
float share(uint y, uint x, uint liveKeys) {
    if (IS_MEAN == 0u) return 1.0;
    const uint rowsOf = min(VIEW_ROW_COUNT, (y + 1) << VIEW_ROW_LEVEL) - (y << VIEW_ROW_LEVEL);
    const uint first = VIEW_FIRST_KEY + (x << VIEW_COLUMN_LEVEL), end = VIEW_FIRST_KEY + ((x + 1) << VIEW_COLUMN_LEVEL);
    return first >= liveKeys ? 0.0 : 1.0 / float(rowsOf * (min(end, liveKeys) - first));
}

void main() {
    const uint lane = laneOf(), head = VIEW_HEAD, group = head / (heads / groups);
    const uint liveQueries = liveCount(queries, queryLiveSlot), liveKeys = liveCount(keys, keyLiveSlot);
    const uint rowLevel = VIEW_ROW_LEVEL, columnLevel = VIEW_COLUMN_LEVEL, columns = VIEW_COLUMNS;
    const uint item = gl_WorkGroupID.y * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    const uint rowsOfItem = max(8u, 1u << rowLevel), firstOrdinal = item * rowsOfItem;
    if (firstOrdinal >= VIEW_ROW_COUNT) return;
    const float slope = slopes[head];
    const uint unit = max(5u, columnLevel); // log2 of the keys after which a pixel is complete
    const uint stripBegin = gl_WorkGroupID.x << max(8u, columnLevel);
    const uint stripEnd = min(stripBegin + (1u << max(8u, columnLevel)), columns << columnLevel); // from VIEW_FIRST_KEY on

    for (uint unitBegin = stripBegin; unitBegin < stripEnd; unitBegin += 1u << unit) {
        float pixel = 0.0; // of this lane, where all rows make one
        for (uint groupBegin = 0; groupBegin < rowsOfItem; groupBegin += WIDTH) {
            LENS_ROWS(firstOrdinal + groupBegin, liveQueries)
            vec4 row = LOAD4(statistics, VIEW_STATISTICS + min(ordinal, VIEW_ROW_COUNT - 1) * VIEW_STATISTICS_STEP);
            if (ordinal >= VIEW_ROW_COUNT || VIEW_FIRST_ROW + ordinal * VIEW_ROW_STEP >= liveQueries) row.y = 0.0;
            vec4 cells[WIDTH];
            [[unroll]] for (uint i = 0; i < WIDTH; ++i) cells[i] = vec4(IS_MEAN == 1u || IS_FINE == 1u ? 0.0 : MASKED);
            for (uint begin = unitBegin; begin < unitBegin + (1u << unit); begin += 32) {
                const uvec4 keys4 = uvec4(VIEW_FIRST_KEY + begin + lane * 4) + uvec4(0, 1, 2, 3);
                const uvec4 there = min(keys4, uvec4(liveKeys - 1));
                const ivec4 keyAt = ivec4(keyPosition[there.x], keyPosition[there.y], keyPosition[there.z], keyPosition[there.w]);
                for (bool isDue = isReached(keyAt, keys4, liveKeys, oldest, newest); isDue; isDue = false) {
                    vec4 score[WIDTH];
                    [[unroll]] for (uint i = 0; i < WIDTH; ++i) score[i] = vec4(0.0);
                    const uvec4 kBase = (there * groups + group) * headVectors;
                    ADD_DOTS(score, q, qBase, k, kBase, headVectors);
                    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
                        const vec4 own = maskedScores(score[i], slope, SHUFFLE(rowPosition, i), keyAt, keys4, liveKeys);
                        if (IS_MEAN == 1u || IS_FINE == 1u)
                            cells[i] += exp2(own - SHUFFLE(row.x, i)) * SHUFFLE(row.y, i);
                        else
                            cells[i] = max(cells[i], own); // the exponential grows with the score: one is enough
                    }
                }
            }
            if (IS_FINE == 1u) {
                [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
                    if (columnLevel == 1u) cells[i].xy = vec2(joined(cells[i].x, cells[i].y), joined(cells[i].z, cells[i].w));
                }
                const uint step = min(1u << rowLevel, WIDTH); // rows of a pixel
                const uint wide = columnLevel == 1u ? 2u : 4u;
                vec4 many = vec4(0.0);
                [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
                    const uint at = i & (step - 1);
                    const vec4 both = vec4(joined(many.x, cells[i].x), joined(many.y, cells[i].y), joined(many.z, cells[i].z), joined(many.w, cells[i].w));
                    many = at == 0u ? cells[i] : both;
                    const uint y = (firstOrdinal + i) >> rowLevel, x = (unitBegin + lane * 4) >> columnLevel;
                    if (at == step - 1 && (y << rowLevel) < VIEW_ROW_COUNT) {
                        [[unroll]] for (uint c = 0; c < 4; ++c)
                            if (c < wide && x + c < columns) pixels[y * stride + x + c] = many[c] * share(y, x + c, liveKeys);
                    }
                }
            } else {
                const uint step = min(1u << rowLevel, WIDTH);
                const uint y0 = firstOrdinal >> rowLevel, x = unitBegin + lane * 4 >> columnLevel;
                const uint lanes = 1u << min(columnLevel - 2, 3u); // of a pixel
                float many = 0.0;
                [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
                    float own;
                    if (IS_MEAN == 1u)
                        own = cells[i].x + cells[i].y + cells[i].z + cells[i].w;
                    else
                        own = exp2(max(max(cells[i].x, cells[i].y), max(cells[i].z, cells[i].w)) - SHUFFLE(row.x, i)) * SHUFFLE(row.y, i);
                    const uint at = i & (step - 1);
                    many = at == 0u ? own : joined(many, own);
                    if (at == step - 1) {
                        const uint y = (firstOrdinal + groupBegin + i) >> rowLevel;
                        pixel = joined(pixel, many);
                        const bool isWhole = groupBegin + WIDTH >= rowsOfItem;
                        const float result = overLanes(step < WIDTH ? many : pixel, columnLevel);
                        if (isWhole && (lane & (lanes - 1)) == 0u && x < columns && (y << rowLevel) < VIEW_ROW_COUNT)
                            pixels[y * stride + x] = result * share(y, x, liveKeys);
                    }
                }
            }
        }
    }
}
