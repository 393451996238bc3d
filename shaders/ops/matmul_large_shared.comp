#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "activation.glsl"
#include "tensor.glsl"
#include "matmul.glsl"

// Large matmul for real GPUs: 256 threads make a tile of 128 rows by 128 columns, each thread 8 x 8 of it in registers, from slices of
// 16 along K in shared memory. Operands in matmul.glsl.
//
// Local size 256 x 1 (constants 0 and 1). Grid ceil(N / 128) x ceil(M / 128).
const uint TILE = 128;
const uint SLICE = 4; // vectors along K
const uint THREADS = 256;

// Transposed to [k][row], so that a thread reads its 8 rows as two vectors. 4 floats of padding spread the stores over banks.
const uint ROW_VECTORS = TILE / 4 + 1;
shared vec4 xTile[SLICE * 4 * ROW_VECTORS];
shared vec4 wTile[SLICE * 4 * ROW_VECTORS];

#define STORE_TRANSPOSED(tile, line, slice, value)                                                                                \
    [[unroll]] for (uint c_ = 0; c_ < 4; ++c_) tile[((slice) * 4 + c_) * ROW_VECTORS + (line) / 4][(line) % 4] = value[c_];

void main() {
    const uint thread = gl_LocalInvocationIndex;
    const uint live = liveVectors(rows, rowsPerUnit, liveSlot);
    const uint row0 = gl_WorkGroupID.y * TILE, column0 = gl_WorkGroupID.x * TILE;
    if (row0 >= live) return; // the whole workgroup
    const uint depth = (inner + 3) / 4;

    // Loading: thread i takes vector i % 4 of lines i / 4 and i / 4 + 64.
    const uint slice = thread % SLICE, line = thread / SLICE;
    const uint xBase0 = min(row0 + line, live - 1) * depth, xBase1 = min(row0 + line + 64, live - 1) * depth;
    const uint wBase0 = min(column0 + line, columns - 1) * depth, wBase1 = min(column0 + line + 64, columns - 1) * depth;

    // Computing: thread (tx, ty) makes rows 4 ty + (0..3) and the same 64 further down, columns likewise.
    const uint tx = thread % 16, ty = thread / 16;
    vec4 sum[8][2];
    [[unroll]] for (uint i = 0; i < 8; ++i) sum[i][0] = sum[i][1] = vec4(0.0);
    vec4 nextX0, nextX1, nextW0, nextW1;
#define LOAD_SLICE(k)                                                                                                             \
    {                                                                                                                             \
        const uint at_ = min((k) + slice, depth - 1);                                                                             \
        const float exists_ = (k) + slice < depth ? 1.0 : 0.0;                                                                    \
        nextX0 = LOAD4(x, xBase0 + at_) * exists_;                                                                                \
        nextX1 = LOAD4(x, xBase1 + at_) * exists_;                                                                                \
        nextW0 = LOAD4(w, wBase0 + at_);                                                                                          \
        nextW1 = LOAD4(w, wBase1 + at_);                                                                                          \
    }
    LOAD_SLICE(0);
    for (uint k = 0; k < depth; k += SLICE) {
        STORE_TRANSPOSED(xTile, line, slice, nextX0);
        STORE_TRANSPOSED(xTile, line + 64, slice, nextX1);
        STORE_TRANSPOSED(wTile, line, slice, nextW0);
        STORE_TRANSPOSED(wTile, line + 64, slice, nextW1);
        barrier();
        LOAD_SLICE(k + SLICE); // in flight while this slice is multiplied; clamped at the end
        [[unroll]] for (uint c = 0; c < SLICE * 4; ++c) {
            const vec4 a[2] = vec4[](xTile[c * ROW_VECTORS + ty], xTile[c * ROW_VECTORS + ty + 16]);
            const vec4 b0 = wTile[c * ROW_VECTORS + tx], b1 = wTile[c * ROW_VECTORS + tx + 16];
            [[unroll]] for (uint i = 0; i < 8; ++i) {
                sum[i][0] = fma(vec4(a[i / 4][i % 4]), b0, sum[i][0]);
                sum[i][1] = fma(vec4(a[i / 4][i % 4]), b1, sum[i][1]);
            }
        }
        barrier();
    }

    const uint vectors = (columns + 3) / 4, vector = column0 / 4 + tx;
    const vec4 bias0 = LOAD_BIAS(vector), bias1 = LOAD_BIAS(vector + 16);
    [[unroll]] for (uint i = 0; i < 8; ++i) {
        const uint row = row0 + ty * 4 + i % 4 + (i / 4) * 64;
        if (row >= live) continue;
        if (vector < vectors) STORE_RESULT(row, vector, sum[i][0], bias0);
        if (vector + 16 < vectors) STORE_RESULT(row, vector + 16, sum[i][1], bias1);
    }
}
