// The products of matmul_operands.glsl for real GPUs. Include after tensor.glsl (and activation.glsl for the first); local size and grid in
// matmul_tiles.glsl.
#include "matmul_operands.glsl"
#include "matmul_tiles.glsl"

#if W_IS_TRANSPOSED
#define W_KIND OF_ROWS
#else
#define W_KIND OF_COLUMNS
#endif
#if X_IS_TRANSPOSED
#define X_KIND OF_COLUMNS
#else
#define X_KIND OF_ROWS
#endif
#define ADD_KINDS(X, W, xName, wName, inner, SEE)                                                                                 \
    ADD_TILES(X, xName, START(xBatch), W, wName, START(wBatch), row0, rows, column0, columns, inner, SEE)
#define ADD_PRODUCT(xName, wName, inner, SEE) ADD_KINDS(X_KIND, W_KIND, xName, wName, inner, SEE)

#define SUM_COLUMNS(next) columnSum += next[0] + next[1]

#define EXISTS(vector) vec4(lessThan(uvec4((vector) * 4) + uvec4(0, 1, 2, 3), uvec4(columns)))
#if BATCHED
#define STORE(at, vector, value) result[at] = (value) * scale * EXISTS(vector)
#elif X_IS_TRANSPOSED
#define STORE(at, vector, value) result[at] = (value) * scale
#else
#define STORE(at, vector, value) STORE_PLAIN(at, value)
#endif
#define FINISH(row, vector, value)                                                                                                \
    if (row < rows && vector < (columns + 3) / 4) {                                                                               \
        const uint at_ = START(yBatch) + row * ((columns + 3) / 4) + vector;                                                      \
        STORE(at_, vector, value);                                                                                                \
    }

void main() {
    const uint row0 = gl_WorkGroupID.y * TILE, column0 = gl_WorkGroupID.x * TILE;
    CLEAR_TILE;
#if X_IS_TRANSPOSED && !BATCHED
    vec4 columnSum = vec4(0.0);
    ADD_PRODUCT(x, w, inner, SUM_COLUMNS);
#else
    ADD_PRODUCT(x, w, inner, SEE_NOTHING);
#if !BATCHED
    if (PAIRS > 1) ADD_PRODUCT(x1, w1, inner1, SEE_NOTHING);
    if (PAIRS > 2) ADD_PRODUCT(x2, w2, inner2, SEE_NOTHING);
#endif
#endif
    FOR_TILE(FINISH);
#if X_IS_TRANSPOSED && !BATCHED
    if (gl_WorkGroupID.x > 0) return; // the whole workgroup
    barrier();
    tiles[GROUP * TILE + THREAD] = columnSum;
    barrier();
    const uint vector = row0 / 4 + gl_LocalInvocationIndex;
    if (gl_LocalInvocationIndex >= TILE / 4 || vector >= (rows + 3) / 4) return;
    vec4 total = vec4(0.0);
    for (uint i = gl_LocalInvocationIndex; i < GROUPS * TILE; i += TILE / 4) total += tiles[i];
    sums[vector] = total; // the padding of x is zero
#endif
}
