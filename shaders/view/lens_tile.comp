#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "lanes8.glsl"
#include "attention.glsl"

// A band of the pattern, pooled: each pixel is the largest or the mean probability of all cells that it covers. A set of lanes takes
// sixteen rows, or those of one pixel, against a strip of keys, 32 at a time.
//
// Constants 2: the mean, not the largest. 4: pixels of one or two columns, which lie within a lane's four keys.
// Grid ceil(strips) x ceil(items of rows / L) x heads; a strip is 256 keys or one pixel, an item 16 rows or one pixel.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const uint IS_MEAN = 0;
layout(constant_id = 4) const uint IS_FINE = 0;
const uint SETS = 2; // of eight rows, which share what is fetched of the keys
layout(push_constant) uniform Push {
    ATTENTION_PUSH
    uint stride;                       // of a row of pixels
    uint rowsOfHead, statisticsOfHead; // of the pixels and of the statistics
};
INPUT4(1, q);
INPUT4(2, k);
INPUT_I(3, queryPosition);
INPUT_I(4, keyPosition);
INPUT_F(5, slopes);
INPUT4(6, statistics);
INPUT_I(7, view);
OUTPUT_F(8, pixels); // [heads, rows, columns of pixels]
#include "lens.glsl"

float joined(float a, float b) { return IS_MEAN == 1u ? a + b : max(a, b); }

// Over the lanes of a pixel of 2^level keys.
float overLanes(float x, uint level) {
    if (level > 2) x = joined(x, subgroupShuffleXor(x, 1));
    if (level > 3) x = joined(x, subgroupShuffleXor(x, 2));
    if (level > 4) x = joined(x, subgroupShuffleXor(x, 4));
    return x;
}

// What the mean of a pixel divides by: the cells that exist and may be seen.
float share(uint y, uint x, uint liveKeys) {
    if (IS_MEAN == 0u) return 1.0;
    const uint rowsOf = min(VIEW_ROW_COUNT, (y + 1) << VIEW_ROW_LEVEL) - (y << VIEW_ROW_LEVEL);
    const uint first = VIEW_FIRST_KEY + (x << VIEW_COLUMN_LEVEL), end = VIEW_FIRST_KEY + ((x + 1) << VIEW_COLUMN_LEVEL);
    const uint counted = max(first, VIEW_FIRST_SEEN), last = min(end, liveKeys);
    return counted >= last ? 0.0 : 1.0 / float(rowsOf * (last - counted));
}

void main() {
    const uint lane = laneOf(), head = VIEW_HEAD + gl_WorkGroupID.z, group = head / (heads / groups);
    const uint liveQueries = liveCount(queries, queryLiveSlot), liveKeys = liveCount(keys, keyLiveSlot);
    const uint rowLevel = VIEW_ROW_LEVEL, columnLevel = VIEW_COLUMN_LEVEL, columns = VIEW_COLUMNS;
    const uint item = gl_WorkGroupID.y * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    const uint rowsOfItem = max(WIDTH * SETS, 1u << rowLevel), firstOrdinal = item * rowsOfItem;
    if (firstOrdinal >= VIEW_ROW_COUNT) return;
    const float slope = slopes[head];
    const uint firstPixel = gl_WorkGroupID.z * rowsOfHead * stride, firstStatistic = gl_WorkGroupID.z * statisticsOfHead + VIEW_STATISTICS;
    const uint unit = max(5u, columnLevel), strip = max(8u, columnLevel); // log2 of the keys after which a pixel is complete
    const uint stripBegin = gl_WorkGroupID.x << strip, stripEnd = min(stripBegin + (1u << strip), columns << columnLevel);
    const uint rowsOfPixel = min(1u << rowLevel, WIDTH * SETS); // of those that are taken at once
    const uint lanesOfPixel = IS_FINE == 1u ? 1u : 1u << min(columnLevel - 2, 3u);
    const uint across = IS_FINE == 0u ? 1u : columnLevel == 0u ? 4u : 2u; // pixels of a lane

    // What no row sees is 0.
    for (uint begin = stripBegin; begin < stripEnd; begin += 1u << unit)
        for (uint i = 0; i < WIDTH * SETS; i += rowsOfPixel)
            for (uint c = 0; c < across; ++c) {
                const uint y = (firstOrdinal + i) >> rowLevel, x = ((begin + lane * 4) >> columnLevel) + c;
                if ((lane & (lanesOfPixel - 1)) == 0u && x < columns && (y << rowLevel) < VIEW_ROW_COUNT) pixels[firstPixel + y * stride + x] = 0.0;
            }

    float whole[8]; // of each unit, where all rows of the item make one pixel
    [[unroll]] for (uint u = 0; u < 8; ++u) whole[u] = 0.0;
    for (uint groupBegin = 0; groupBegin < rowsOfItem; groupBegin += WIDTH * SETS) {
        const Rows rows = rowsOf(firstOrdinal + groupBegin, head, liveQueries);
        vec2 row[SETS]; // maximum and 1 / sum
        [[unroll]] for (uint s = 0; s < SETS; ++s) {
            const uint ordinal = rows.ordinal[s];
            row[s] = LOAD4(statistics, firstStatistic + min(ordinal, VIEW_ROW_COUNT - 1) * VIEW_STATISTICS_STEP).xy;
            if (ordinal >= VIEW_ROW_COUNT || VIEW_FIRST_ROW + ordinal * VIEW_ROW_STEP >= liveQueries) row[s].y = 0.0;
        }
        uint begin = nextReached(VIEW_FIRST_KEY, stripBegin, stripEnd, liveKeys, rows.oldest, rows.newest);
        while (begin < stripEnd) {
            const uint unitBegin = begin >> unit << unit, unitEnd = unitBegin + (1u << unit);
            vec4 cells[WIDTH * SETS];
            [[unroll]] for (uint i = 0; i < WIDTH * SETS; ++i) cells[i] = vec4(IS_MEAN == 1u || IS_FINE == 1u ? 0.0 : MASKED);
            for (; begin < unitEnd; begin = nextReached(VIEW_FIRST_KEY, begin + 32, stripEnd, liveKeys, rows.oldest, rows.newest)) {
                const uvec4 keys4 = uvec4(VIEW_FIRST_KEY + begin + lane * 4) + uvec4(0, 1, 2, 3);
                const uvec4 there = min(keys4, uvec4(liveKeys - 1));
                const ivec4 keyAt = ivec4(keyPosition[there.x], keyPosition[there.y], keyPosition[there.z], keyPosition[there.w]);
                vec4 score[WIDTH * SETS];
                [[unroll]] for (uint i = 0; i < WIDTH * SETS; ++i) score[i] = vec4(0.0);
                const uvec4 kBase = (there * groups + group) * headVectors;
                ADD_SCORES(score, rows, kBase);
                [[unroll]] for (uint i = 0; i < WIDTH * SETS; ++i) {
                    const vec4 own = maskedScores(score[i], slope, SHUFFLE(rows.position[i / WIDTH], i % WIDTH), keyAt, keys4, liveKeys);
                    if (IS_MEAN == 1u || IS_FINE == 1u)
                        cells[i] += exp2(own - SHUFFLE(row[i / WIDTH].x, i % WIDTH)) * SHUFFLE(row[i / WIDTH].y, i % WIDTH);
                    else
                        cells[i] = max(cells[i], own); // the exponential grows with the score: one is enough
                }
            }
            vec4 many = vec4(0.0); // what the rows of a pixel make so far
            [[unroll]] for (uint i = 0; i < WIDTH * SETS; ++i) {
                vec4 own = cells[i];
                if (IS_FINE == 1u) {
                    if (columnLevel == 1u) own.xy = vec2(joined(own.x, own.y), joined(own.z, own.w));
                } else if (IS_MEAN == 1u) {
                    own.x += own.y + own.z + own.w;
                } else {
                    own.x = exp2(max(max(own.x, own.y), max(own.z, own.w)) - SHUFFLE(row[i / WIDTH].x, i % WIDTH)) * SHUFFLE(row[i / WIDTH].y, i % WIDTH);
                }
                const uint at = i & (rowsOfPixel - 1);
                many = at == 0u ? own : vec4(joined(many.x, own.x), joined(many.y, own.y), joined(many.z, own.z), joined(many.w, own.w));
                if (at == rowsOfPixel - 1 && rowsOfItem == WIDTH * SETS) {
                    const uint y = (firstOrdinal + i) >> rowLevel, x = (unitBegin + lane * 4) >> columnLevel;
                    const vec4 result = IS_FINE == 1u ? many : vec4(overLanes(many.x, columnLevel));
                    if ((lane & (lanesOfPixel - 1)) == 0u && (y << rowLevel) < VIEW_ROW_COUNT)
                        [[unroll]] for (uint c = 0; c < 4; ++c)
                            if (c < across && x + c < columns) pixels[firstPixel + y * stride + x + c] = result[c] * share(y, x + c, liveKeys);
                }
            }
            if (IS_FINE == 0u && rowsOfItem > WIDTH * SETS) {
                const uint u = (unitBegin - stripBegin) >> unit;
                whole[u] = joined(whole[u], many.x);
            }
        }
    }
    if (IS_FINE == 0u && rowsOfItem > WIDTH * SETS)
        for (uint u = 0; stripBegin + (u << unit) < stripEnd; ++u) {
            const uint y = firstOrdinal >> rowLevel, x = (stripBegin + (u << unit) + lane * 4) >> columnLevel;
            const float result = overLanes(whole[u], columnLevel);
            if ((lane & (lanesOfPixel - 1)) == 0u && x < columns) pixels[firstPixel + y * stride + x] = result * share(y, x, liveKeys);
        }
}
