#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tensor.glsl"
#include "attention.glsl"
#include "fused_attention.glsl"

// Fused attention for real GPUs: 128 threads take 64 queries of one head against 32 keys at a time, through shared memory.
// Operands in fused_attention.glsl. Heads wider than 64 are done in several passes over grid z, each of which computes the
// scores anew.
//
// Local size 128 x 1 (constants 0 and 1). Grid ceil(T / 64) x H x ceil(D / 64).
const uint THREADS = 128, ROWS = 64, KEYS = 32, SLICE = 8, PASS = 16; // SLICE and PASS in vectors of features
const uint ROW_VECTORS = ROWS / 4 + 1, KEY_VECTORS = KEYS / 4 + 1;    // one vector of padding spreads stores over banks

shared vec4 qTile[SLICE * 4 * ROW_VECTORS]; // [feature][row]
shared vec4 kTile[SLICE * 4 * KEY_VECTORS]; // [feature][key]
shared vec4 vTile[KEYS * PASS];             // [key][feature]
shared vec4 pTile[KEYS * ROW_VECTORS];      // [key][row]: scores, then weights
shared float partial[THREADS];
shared float rowFactor[ROWS];
shared int rowAt[ROWS];
shared int oldest, newest;
shared uint isReached;

#define STORE_TRANSPOSED(tile, stride, line, slice, value)                                                                        \
    [[unroll]] for (uint c_ = 0; c_ < 4; ++c_) tile[((slice) * 4 + c_) * (stride) + (line) / 4][(line) % 4] = (value)[c_];

void main() {
    const uint thread = gl_LocalInvocationIndex, head = gl_WorkGroupID.y;
    const uint liveQueries = liveCount(queries, queryLiveSlot), liveKeys = liveCount(keys, keyLiveSlot);
    const uint row0 = gl_WorkGroupID.x * ROWS;
    if (row0 >= liveQueries) return; // the whole workgroup
    const uint firstKey = sequence == 0u ? 0u : row0 / sequence * sequence;
    const uint endKey = sequence == 0u ? liveKeys : min(((row0 + ROWS - 1) / sequence + 1) * sequence, liveKeys);
    const uint group = groupOf(head), keyStride = groups * headVectors, headBase = group * headVectors;
    const uint firstVector = gl_WorkGroupID.z * PASS, passVectors = min(headVectors - firstVector, PASS);

    if (thread == 0) {
        oldest = 0x7fffffff;
        newest = -0x7fffffff;
    }
    barrier();
    if (thread < ROWS) {
        const int at = queryPosition[min(row0 + thread, liveQueries - 1)];
        rowAt[thread] = at;
        atomicMin(oldest, at);
        atomicMax(newest, at);
    }

    // Both products: thread (tx, ty) has rows 4 ty + (0..3); in the first keys 4 tx + (0..3), in the second vectors tx and tx + 8
    // of the features. In between threads 2 r and 2 r + 1 share row r.
    const uint tx = thread % 8, ty = thread / 8, row = thread / 2;
    float maximum = NOTHING_SEEN, sum = 0.0;
    vec4 result[4][2];
    [[unroll]] for (uint i = 0; i < 4; ++i) result[i][0] = result[i][1] = vec4(0.0);

    for (uint begin = firstKey; begin < endKey; begin += KEYS) {
        if (thread == 0) isReached = 0;
        barrier();
        if (thread < KEYS / 4) {
            const bvec4 exist = exists4(begin / 4 + thread, endKey);
            const ivec4 at = keyPosition4[min(begin / 4 + thread, (liveKeys - 1) / 4)];
            [[unroll]] for (uint j = 0; j < 4; ++j)
                if (exist[j] && (causal == 0u || at[j] <= newest) && (window == 0u || oldest - at[j] < int(window))) atomicOr(isReached, 1);
        }
        barrier();
        const bool isHidden = isReached == 0;
        barrier(); // before the flag is written again
        if (isHidden) continue; // the whole workgroup

        vec4 score[4];
        [[unroll]] for (uint i = 0; i < 4; ++i) score[i] = vec4(0.0);
        for (uint slice = 0; slice < headVectors; slice += SLICE) {
            [[unroll]] for (uint n = 0; n < ROWS * SLICE / THREADS; ++n) {
                const uint at = (n * THREADS + thread) % SLICE, line = (n * THREADS + thread) / SLICE;
                vec4 a = LOAD4(q, (min(row0 + line, liveQueries - 1) * heads + head) * headVectors + min(slice + at, headVectors - 1));
                if (slice + at >= headVectors) a = vec4(0.0);
                STORE_TRANSPOSED(qTile, ROW_VECTORS, line, at, a);
            }
            [[unroll]] for (uint n = 0; n < KEYS * SLICE / THREADS; ++n) {
                const uint at = (n * THREADS + thread) % SLICE, line = (n * THREADS + thread) / SLICE;
                const vec4 b = LOAD4(k, min(begin + line, liveKeys - 1) * keyStride + headBase + min(slice + at, headVectors - 1));
                STORE_TRANSPOSED(kTile, KEY_VECTORS, line, at, b);
            }
            barrier();
            [[unroll]] for (uint d = 0; d < SLICE * 4; ++d) {
                const vec4 a = qTile[d * ROW_VECTORS + ty], b = kTile[d * KEY_VECTORS + tx];
                [[unroll]] for (uint i = 0; i < 4; ++i) score[i] = fma(vec4(a[i]), b, score[i]);
            }
            barrier();
        }

        const bvec4 exist = exists4(begin / 4 + tx, endKey);
        const uint keySequence = sequence == 0u ? 0u : (begin + tx * 4) / sequence; // of all four: sequences are multiples of 4 rows
        const ivec4 keyAt = keyPosition4[min(begin / 4 + tx, (liveKeys - 1) / 4)];
        [[unroll]] for (uint i = 0; i < 4; ++i) {
            const bool isOwn = sequence == 0u || (row0 + ty * 4 + i) / sequence == keySequence;
            const int at = rowAt[ty * 4 + i];
            score[i] = isOwn ? mix(vec4(MASKED), scores4(score[i], head, at, keyAt), visible4(at, keyAt, exist)) : vec4(MASKED);
            [[unroll]] for (uint j = 0; j < 4; ++j) pTile[(tx * 4 + j) * ROW_VECTORS + ty][i] = score[i][j];
        }
        [[unroll]] for (uint n = 0; n < KEYS * PASS / THREADS; ++n) {
            const uint at = (n * THREADS + thread) % PASS, line = (n * THREADS + thread) / PASS;
            vTile[line * PASS + at] =
                LOAD4(v, min(begin + line, liveKeys - 1) * keyStride + headBase + firstVector + min(at, passVectors - 1));
        }
        barrier();

        float larger = maximum;
        [[unroll]] for (uint s = 0; s < KEYS; s += 2) larger = max(larger, pTile[(s + thread % 2) * ROW_VECTORS + row / 4][row % 4]);
        partial[thread] = larger;
        barrier();
        larger = max(partial[row * 2], partial[row * 2 + 1]);
        const float keep = exp2(maximum - larger);
        maximum = larger;
        float added = 0.0;
        [[unroll]] for (uint s = 0; s < KEYS; s += 2) {
            const uint at = (s + thread % 2) * ROW_VECTORS + row / 4;
            const float p = exp2(pTile[at][row % 4] - larger);
            pTile[at][row % 4] = p;
            added += p;
        }
        sum = sum * keep + added; // of this thread's half of the keys
        if (thread % 2 == 0) rowFactor[row] = keep;
        barrier();

        [[unroll]] for (uint i = 0; i < 4; ++i) {
            result[i][0] *= rowFactor[ty * 4 + i];
            result[i][1] *= rowFactor[ty * 4 + i];
        }
        [[unroll]] for (uint s = 0; s < KEYS; ++s) {
            const vec4 p = pTile[s * ROW_VECTORS + ty], b0 = vTile[s * PASS + tx], b1 = vTile[s * PASS + tx + 8];
            [[unroll]] for (uint i = 0; i < 4; ++i) {
                result[i][0] = fma(vec4(p[i]), b0, result[i][0]);
                result[i][1] = fma(vec4(p[i]), b1, result[i][1]);
            }
        }
        barrier();
    }

    barrier();
    partial[thread] = sum;
    barrier();
    if (thread % 2 == 0) {
        const float inverse = maximum <= NOTHING_SEEN ? 0.0 : 1.0 / (partial[thread] + partial[thread + 1]);
        rowFactor[row] = gates[head] * inverse;
        if (gl_WorkGroupID.z == 0 && row0 + row < liveQueries)
            statistics[head * queries + row0 + row] = vec4(maximum, inverse, 0.0, 0.0);
    }
    barrier();
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        const uint at = ((row0 + ty * 4 + i) * heads + head) * headVectors + firstVector + tx;
        if (row0 + ty * 4 + i >= liveQueries) continue;
        if (tx < passVectors) z[at] = result[i][0] * rowFactor[ty * 4 + i];
        if (tx + 8 < passVectors) z[at + 8] = result[i][1] * rowFactor[ty * 4 + i];
    }
}
