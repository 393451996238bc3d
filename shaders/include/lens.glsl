// What the kernels of the lens share. Include after tensor.glsl, lanes8.glsl and attention.glsl; the shader has q, k, queryPosition,
// keyPosition and slopes.
//
// The rows of a band are the queries firstRow + r rowStep, r < rowCount; a pixel covers 2^rowLevel of them and 2^columnLevel keys.
//
// view I32 [16]   0-2 workgroups  3 head  4 firstRow  5 rowStep  6 rowLevel  7 rowCount  8 firstKey  9 columnLevel  10 columns in
//                 pixels  11 and 12: statistics of row r stand at 11 + r 12
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

// Which of a block of 32 keys, from key `key` of this lane on, some row at positions from `oldest` to `newest` may see.
bool isReached(ivec4 keyAt, uvec4 keys4, uint live, int oldest, int newest) {
    const uvec4 exist = uvec4(lessThan(keys4, uvec4(live)));
    const uvec4 past = uvec4(lessThanEqual(keyAt, ivec4(newest))) | uint(causal == 0u);
    const uvec4 near = uvec4(lessThan(ivec4(oldest) - keyAt, ivec4(window))) | uint(window == 0u);
    return anyOfLanes(any(bvec4(exist & past & near)));
}

// Scores of one row in powers of two, MASKED where the rule hides them.
vec4 maskedScores(vec4 dots, float slope, int queryAt, ivec4 keyAt, uvec4 keys4, uint live) {
    const uvec4 exist = uvec4(lessThan(keys4, uvec4(live)));
    const uvec4 past = uvec4(lessThanEqual(keyAt, ivec4(queryAt))) | uint(causal == 0u);
    const uvec4 near = uvec4(lessThan(ivec4(queryAt) - keyAt, ivec4(window))) | uint(window == 0u);
    const vec4 scores = (dots * scale - slope * abs(vec4(ivec4(queryAt) - keyAt))) * LOG2_E;
    return mix(vec4(MASKED), scores, bvec4(exist & past & near));
}

// Rows base + lane of a band: where the query of this lane begins in q, and its position.
#define LENS_ROWS(base, live)                                                                                                     \
    const uint ordinal = (base) + lane;                                                                                           \
    const uint query = min(VIEW_FIRST_ROW + min(ordinal, VIEW_ROW_COUNT - 1) * VIEW_ROW_STEP, (live)-1);                          \
    const uint qBase = (query * heads + head) * headVectors;                                                                      \
    const int rowPosition = queryPosition[query];                                                                                 \
    int oldest = rowPosition, newest = rowPosition;                                                                               \
    oldest = min(oldest, subgroupShuffleXor(oldest, 1));                                                                          \
    oldest = min(oldest, subgroupShuffleXor(oldest, 2));                                                                          \
    oldest = min(oldest, subgroupShuffleXor(oldest, 4));                                                                          \
    newest = max(newest, subgroupShuffleXor(newest, 1));                                                                          \
    newest = max(newest, subgroupShuffleXor(newest, 2));                                                                          \
    newest = max(newest, subgroupShuffleXor(newest, 4));
