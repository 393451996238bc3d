// What the kernels of the lens share. Include after tensor.glsl, lanes8.glsl and attention.glsl; the shader has q, k, queryPosition,
// keyPosition and slopes, and SETS, of eight rows that it takes at once: 1 or 2.
//
// The rows of a band are the queries firstRow + r rowStep, r < rowCount; a pixel covers 2^rowLevel of them and 2^columnLevel keys.
//
// view I32 [16]   0-2 workgroups  3 head  4 firstRow  5 rowStep  6 rowLevel  7 rowCount  8 firstKey  9 columnLevel  10 columns in
//                 pixels  11 and 12: statistics of row r stand at 11 + r 12  13 keys before it are masked
#define VIEW_HEAD uint(view[3])
#define VIEW_FIRST_ROW uint(view[4])
#define VIEW_ROW_STEP uint(view[5])
#define VIEW_ROW_LEVEL uint(view[6])
#define VIEW_ROW_COUNT uint(view[7])
#define VIEW_FIRST_KEY uint(view[8])
#define VIEW_COLUMN_LEVEL uint(view[9])
#define VIEW_COLUMNS uint(view[10])
#define VIEW_STATISTICS uint(view[11])
#define VIEW_STATISTICS_STEP uint(view[12])
#define VIEW_FIRST_SEEN uint(view[13])

// Which of a block of 32 keys, from key `key` of this lane on, some row at positions from `oldest` to `newest` may see.
bool isReached(ivec4 keyAt, uvec4 keys4, uint live, int oldest, int newest) {
    const uvec4 exist = uvec4(lessThan(keys4, uvec4(live)));
    const uvec4 past = uvec4(lessThanEqual(keyAt, ivec4(newest))) | uint(causal == 0u);
    const uvec4 near = uvec4(lessThan(ivec4(oldest) - keyAt, ivec4(window))) | uint(window == 0u);
    return anyOfLanes(any(bvec4(exist & past & near)));
}

// Scores of one row in powers of two, MASKED where the rule hides them.
vec4 maskedScores(vec4 dots, float slope, int queryAt, ivec4 keyAt, uvec4 keys4, uint live) {
    const uvec4 exist = uvec4(lessThan(keys4, uvec4(live))) & uvec4(greaterThanEqual(keys4, uvec4(VIEW_FIRST_SEEN)));
    const uvec4 past = uvec4(lessThanEqual(keyAt, ivec4(queryAt))) | uint(causal == 0u);
    const uvec4 near = uvec4(lessThan(ivec4(queryAt) - keyAt, ivec4(window))) | uint(window == 0u);
    const vec4 scores = (dots * scale - slope * abs(vec4(ivec4(queryAt) - keyAt))) * LOG2_E;
    return mix(vec4(MASKED), scores, bvec4(exist & past & near));
}

// The first block of 32 keys at or after `begin`, counted from `origin`, that some row reaches. A loop of its own: software Vulkan
// executes both sides of a branch, but leaves a loop once no lane is in it.
uint nextReached(uint origin, uint begin, uint end, uint live, int oldest, int newest) {
    for (; begin < end; begin += 32) {
        const uvec4 keys4 = uvec4(origin + begin + laneOf() * 4) + uvec4(0, 1, 2, 3), there = min(keys4, uvec4(live - 1));
        const ivec4 keyAt = ivec4(keyPosition[there.x], keyPosition[there.y], keyPosition[there.z], keyPosition[there.w]);
        if (isReached(keyAt, keys4, live, oldest, newest)) break;
    }
    return begin;
}

// One or two times eight rows of a band; lanes are rows.
struct Rows {
    uint ordinal[2], base[2]; // in the band; where the query begins in q
    int position[2];
    int oldest, newest; // of all
};
Rows rowsOf(uint first, uint head, uint live) {
    Rows rows;
    rows.oldest = 0x7fffffff;
    rows.newest = -0x7fffffff;
    [[unroll]] for (uint s = 0; s < SETS; ++s) {
        rows.ordinal[s] = first + s * WIDTH + laneOf();
        const uint query = min(VIEW_FIRST_ROW + min(rows.ordinal[s], VIEW_ROW_COUNT - 1) * VIEW_ROW_STEP, live - 1);
        rows.base[s] = (query * heads + head) * headVectors;
        rows.position[s] = queryPosition[query];
        rows.oldest = min(rows.oldest, rows.position[s]);
        rows.newest = max(rows.newest, rows.position[s]);
    }
    rows.oldest = min(rows.oldest, subgroupShuffleXor(rows.oldest, 1));
    rows.oldest = min(rows.oldest, subgroupShuffleXor(rows.oldest, 2));
    rows.oldest = min(rows.oldest, subgroupShuffleXor(rows.oldest, 4));
    rows.newest = max(rows.newest, subgroupShuffleXor(rows.newest, 1));
    rows.newest = max(rows.newest, subgroupShuffleXor(rows.newest, 2));
    rows.newest = max(rows.newest, subgroupShuffleXor(rows.newest, 4));
    return rows;
}

// Dot products of all rows with four keys of each lane: score[i] is row i. Each vector of keys is fetched once for all rows.
#define ADD_SCORES(score, rows, kBase)                                                                                            \
    for (uint d_ = 0; d_ < headVectors; ++d_) {                                                                                   \
        const vec4 b0_ = LOAD4(k, (kBase).x + d_), b1_ = LOAD4(k, (kBase).y + d_), b2_ = LOAD4(k, (kBase).z + d_),                \
                   b3_ = LOAD4(k, (kBase).w + d_);                                                                                \
        [[unroll]] for (uint s_ = 0; s_ < SETS; ++s_) {                                                                           \
            const vec4 a_ = LOAD4(q, rows.base[s_] + d_);                                                                         \
            [[unroll]] for (uint i_ = 0; i_ < WIDTH; ++i_) {                                                                      \
                const vec4 v_ = SHUFFLE4(a_, i_);                                                                                 \
                score[s_ * WIDTH + i_] += vec4(dot(v_, b0_), dot(v_, b1_), dot(v_, b2_), dot(v_, b3_));                           \
            }                                                                                                                     \
        }                                                                                                                         \
    }
