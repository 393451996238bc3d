#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// Attention of rows of several sequences, whose keys lie in pages of a cache: 64 threads take one row and head, 64 keys at a
// time. The keys of row t are those of sequence[t]: key s lies in row pages[sequence, s / pageRows] * pageRows + s % pageRows.
//
// Bindings   1 q [T,H,D]  2 k [S,G,D]  3 v [S,G,D]  4 queryPosition I32 [T]  5 keyPosition I32 [S]  6 gates [H]
//            7 sequence I32 [T]  8 pages I32 [B,N]  9 lengths I32 [B]  10 z [T,H,D]
// Grid H x T x ceil(D / 256): each pass over z computes the scores anew. Softmax is computed online over blocks of keys, in
// powers of two. A row that sees nothing gives zeros.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint queries, keys, heads, groups, headVectors;
    float scale;
    uint window, causal, queryLiveSlot, pageRows, pageCount, pageStride;
};
INPUT4(1, q);
INPUT4(2, k);
INPUT4(3, v);
INPUT_I(4, queryPosition);
INPUT_I(5, keyPosition);
INPUT_F(6, gates);
INPUT_I(7, sequence);
INPUT_I(8, pages);
INPUT_I(9, lengths);
OUTPUT4(10, z);

const uint THREADS = 64;
shared float weight[THREADS], partial[THREADS];
shared vec4 partialRow[THREADS];

// The row of the cache that holds key s.
uint rowOf(uint own, uint s) {
    return min(uint(pages[own * pageStride + s / pageRows]) * pageRows + s % pageRows, keys - 1);
}

void main() {
    const uint thread = gl_LocalInvocationIndex, head = gl_WorkGroupID.x, row = gl_WorkGroupID.y;
    if (row >= liveCount(queries, queryLiveSlot)) return; // the whole workgroup
    const uint own = uint(sequence[row]), length = min(uint(lengths[own]), pageCount * pageRows);
    const uint group = head / (heads / groups), qBase = (row * heads + head) * headVectors;
    const int rowAt = queryPosition[row];

    // For the second product a thread has one vector of features and every (64 / span)th key.
    const uint firstVector = gl_WorkGroupID.z * THREADS, passVectors = min(headVectors - firstVector, THREADS);
    uint span = 1;
    while (span < passVectors) span *= 2;
    const uint feature = thread % span, set = thread / span, sets = THREADS / span;
    const uint ownVector = group * headVectors + firstVector + min(feature, passVectors - 1);

    float maximum = NOTHING_SEEN, sum = 0.0;
    vec4 result = vec4(0.0);
    for (uint begin = 0; begin < length; begin += THREADS) {
        float score = MASKED;
        const uint s = begin + thread;
        if (s < length) {
            const uint keyRow = rowOf(own, s);
            const int at = keyPosition[keyRow];
            if ((causal == 0u || at <= rowAt) && (window == 0u || rowAt - at < int(window))) {
                const uint kBase = (keyRow * groups + group) * headVectors;
                float product = 0.0;
                for (uint d = 0; d < headVectors; ++d) product += dot(LOAD4(q, qBase + d), LOAD4(k, kBase + d));
                score = product * (scale * LOG2_E);
            }
        }
        partial[thread] = score;
        barrier();
        for (uint half_ = THREADS / 2; half_ > 0; half_ /= 2) {
            if (thread < half_) partial[thread] = max(partial[thread], partial[thread + half_]);
            barrier();
        }
        const float larger = max(maximum, partial[0]), keep = exp2(maximum - larger);
        maximum = larger;
        const float own_ = exp2(score - larger);
        weight[thread] = own_;
        sum = sum * keep + own_; // of this thread's keys
        result *= keep;
        barrier();
        for (uint i = set; i < min(THREADS, length - begin); i += sets)
            result += weight[i] * LOAD4(v, rowOf(own, begin + i) * groups * headVectors + ownVector);
        barrier(); // before the weights are written again
    }

    partial[thread] = sum;
    partialRow[thread] = result;
    barrier();
    for (uint half_ = THREADS / 2; half_ > 0; half_ /= 2) {
        if (thread < half_) {
            partial[thread] += partial[thread + half_];
            if (half_ >= span) partialRow[thread] += partialRow[thread + half_];
        }
        barrier();
    }
    const float inverse = maximum <= NOTHING_SEEN ? 0.0 : 1.0 / partial[0];
    if (thread < passVectors) z[qBase + firstVector + thread] = partialRow[thread] * (gates[head] * inverse);
}
