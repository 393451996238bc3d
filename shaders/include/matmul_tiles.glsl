// Products of matrices for real GPUs, in tiles of 64 rows by 64 columns. A group of 64 threads makes a tile, each thread 8 x 8 of it in
// registers, from slices of 8 along K in shared memory. Several groups of a workgroup share one tile: each takes every so many-th slice,
// and their sums are added in the order of the groups, so that the bits are the same every time. Include after tensor.glsl and what declares the local
// size.
//
// A kernel clears `sum`, adds products with ADD_TILES, and calls FOR_TILE(FINISH), which calls FINISH(row, vector, value) once for every four
// columns of the tile; rows and vectors can lie beyond the result.
//
// Local size 64 x groups (constants 0 and 1). Grid ceil(N / 64) x ceil(M / 64) x all batches.

const uint TILE = 64, SLICE = 8, AREA = SLICE * TILE / 4; // AREA: vectors of a slice of one operand
shared vec4 tiles[gl_WorkGroupSize.y * AREA * 2];

#define GROUPS gl_WorkGroupSize.y
#define GROUP gl_LocalInvocationID.y
#define THREAD gl_LocalInvocationID.x
#define X_AREA (GROUP * AREA * 2)
#define W_AREA (X_AREA + AREA)

// Two vectors of a slice per thread, zero beyond K. OF_ROWS: of an operand [lines,K], a thread reads four numbers of two
// lines. OF_COLUMNS: of an operand [K,lines], four numbers of two rows. `start` is the operand's first vector.
#define LOAD_OF_ROWS(next, name, start, line0, lines, inner, k)                                                                   \
    {                                                                                                                             \
        const uint depth_ = ((inner) + 3) / 4, at_ = (k) / 4 + THREAD % 2, line_ = (line0) + THREAD / 2;                          \
        next[0] = at_ < depth_ ? LOAD4(name, (start) + min(line_, (lines) - 1) * depth_ + at_) : vec4(0.0);                       \
        next[1] = at_ < depth_ ? LOAD4(name, (start) + min(line_ + 32, (lines) - 1) * depth_ + at_) : vec4(0.0);                  \
    }
#define LOAD_OF_COLUMNS(next, name, start, line0, lines, inner, k)                                                                \
    {                                                                                                                             \
        const uint vectors_ = ((lines) + 3) / 4, at_ = (k) + THREAD / 16;                                                         \
        const uint column_ = (start) + min((line0) / 4 + THREAD % 16, vectors_ - 1);                                              \
        next[0] = at_ < (inner) ? LOAD4(name, column_ + at_ * vectors_) : vec4(0.0);                                              \
        next[1] = at_ + 4 < (inner) ? LOAD4(name, column_ + (at_ + 4) * vectors_) : vec4(0.0);                                    \
    }
// Into shared memory as [k][line].
#define PUT_OF_ROWS(area, next)                                                                                                   \
    [[unroll]] for (uint c_ = 0; c_ < 4; ++c_) {                                                                                  \
        const uint put_ = (area) + (THREAD % 2 * 4 + c_) * 16 + THREAD / 8;                                                       \
        tiles[put_][THREAD / 2 % 4] = next[0][c_];                                                                                \
        tiles[put_ + 8][THREAD / 2 % 4] = next[1][c_];                                                                            \
    }
#define PUT_OF_COLUMNS(area, next)                                                                                                \
    {                                                                                                                             \
        tiles[(area) + THREAD] = next[0];                                                                                         \
        tiles[(area) + THREAD + 64] = next[1];                                                                                    \
    }

// sum += the tile's part of one product. X and W are OF_ROWS or OF_COLUMNS; SEE(next) sees what a thread has loaded of x.
#define SEE_NOTHING(next)
#define ADD_TILES(X, xName, xStart, W, wName, wStart, row0, rows, column0, columns, inner, SEE)                                   \
    {                                                                                                                             \
        const uint steps_ = ((inner) + SLICE * GROUPS - 1) / (SLICE * GROUPS);                                                    \
        uint k_ = GROUP * SLICE;                                                                                                  \
        vec4 nextX_[2], nextW_[2];                                                                                                \
        LOAD_##X(nextX_, xName, xStart, row0, rows, inner, k_);                                                                   \
        LOAD_##W(nextW_, wName, wStart, column0, columns, inner, k_);                                                             \
        for (uint step_ = 0; step_ < steps_; ++step_) {                                                                           \
            PUT_##X(X_AREA, nextX_);                                                                                              \
            PUT_##W(W_AREA, nextW_);                                                                                              \
            SEE(nextX_);                                                                                                          \
            barrier();                                                                                                            \
            k_ += SLICE * GROUPS;                                                                                                 \
            LOAD_##X(nextX_, xName, xStart, row0, rows, inner, k_); /* in flight while this slice is multiplied */                \
            LOAD_##W(nextW_, wName, wStart, column0, columns, inner, k_);                                                         \
            [[unroll]] for (uint c_ = 0; c_ < SLICE; ++c_) {                                                                      \
                const uint a_ = X_AREA + c_ * 16 + THREAD / 8, b_ = W_AREA + c_ * 16 + THREAD % 8;                                \
                const vec4 x_[2] = vec4[](tiles[a_], tiles[a_ + 8]);                                                              \
                const vec4 w0_ = tiles[b_], w1_ = tiles[b_ + 8];                                                                  \
                [[unroll]] for (uint i_ = 0; i_ < 8; ++i_) {                                                                      \
                    sum[i_][0] = fma(vec4(x_[i_ / 4][i_ % 4]), w0_, sum[i_][0]);                                                  \
                    sum[i_][1] = fma(vec4(x_[i_ / 4][i_ % 4]), w1_, sum[i_][1]);                                                  \
                }                                                                                                                 \
            }                                                                                                                     \
            barrier();                                                                                                            \
        }                                                                                                                         \
    }

#define CLEAR_TILE                                                                                                                \
    vec4 sum[8][2];                                                                                                               \
    [[unroll]] for (uint i_ = 0; i_ < 8; ++i_) sum[i_][0] = sum[i_][1] = vec4(0.0);

// The groups take turns in finishing the rows of a thread. The halves of the shared memory alternate.
#define FOR_TILE(FINISH)                                                                                                          \
    [[unroll]] for (uint i_ = 0; i_ < 8; ++i_) {                                                                                  \
        const uint half_ = i_ % 2 * GROUPS * AREA;                                                                                \
        tiles[half_ + GROUP * AREA + THREAD] = sum[i_][0];                                                                        \
        tiles[half_ + GROUP * AREA + THREAD + 64] = sum[i_][1];                                                                   \
        barrier();                                                                                                                \
        if (GROUP == i_ % GROUPS) {                                                                                               \
            vec4 all_[2] = vec4[](vec4(0.0), vec4(0.0));                                                                          \
            for (uint g_ = 0; g_ < GROUPS; ++g_) {                                                                                \
                all_[0] += tiles[half_ + g_ * AREA + THREAD];                                                                     \
                all_[1] += tiles[half_ + g_ * AREA + THREAD + 64];                                                                \
            }                                                                                                                     \
            const uint row_ = gl_WorkGroupID.y * TILE + THREAD / 8 * 4 + i_ % 4 + i_ / 4 * 32;                                    \
            const uint vector_ = gl_WorkGroupID.x * TILE / 4 + THREAD % 8;                                                        \
            FINISH(row_, vector_, all_[0]);                                                                                       \
            FINISH(row_, vector_ + 8, all_[1]);                                                                                   \
        }                                                                                                                         \
    }
