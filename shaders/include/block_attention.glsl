// What the block-sparse attention kernels share: z[b,h,t,:] = softmax over the visible s of (q[b,h,t] . k[b,g,s] * scale + bias[h,s-t])
// . v[b,g,s], where the mask is a list of tiles of 8 queries by 32 keys. Tiles that are not listed cost nothing. The softmax is that of
// fused_attention.glsl. Include after tensor.glsl and lanes8.glsl.
//
//   begins    [M,n+1]: where the tiles of each block of queries (of keys, in the lists by keys) begin; M is 1 or H
//   tiles     [2 N]: of each tile the block of keys (of queries) and the row of `bits`
//   bits      [P,16]: 16 keys in a number; the first 16 keys of queries 0 to 7, then the last 16. Row 0 shows everything
//   bias      [H,T+S-1]: by distance of key from query, from -(T-1) on
//   labels    [P,256]: of the same tiles the labels of the cells, query by query
//   vectors   [H,L,D]: the one of the cell's label is added to the key
//
// Local size 8 x L. Grid ceil(blocks of eight rows / L) x B H (B G for keys) x ceil(D / (32 BLOCKS)).
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const uint BLOCKS = 2; // of 32 features, 1 or 2
layout(constant_id = 4) const uint HAS_BIAS = 0;
layout(constant_id = 5) const uint HAS_LABELS = 0;
layout(push_constant) uniform Push {
    uint queries, keys, heads, groups, headVectors;
    float scale;
    uint masks, beginStride, biasStride, labelCount, firsts;
};
#include "attention_products.glsl"

uint listOf(uint head) { return masks == 1u ? 0u : head * beginStride; }

// Which of four cells a tile shows, from a number of `bits` for each and the place of the cell's bit in it.
bvec4 shown4(uvec4 halves, uvec4 place) { return notEqual((halves >> place) & 1u, uvec4(0)); }
bvec4 exists4(uint first, uint count) { return lessThan(uvec4(first) + uvec4(0, 1, 2, 3), uvec4(count)); }
bvec4 and4(bvec4 a, bvec4 b) { return bvec4(a.x && b.x, a.y && b.y, a.z && b.z, a.w && b.w); }

// The bias of eight rows by four columns, in powers of two: 11 distances, `first` the smallest.
#define LOAD_BIAS(near, head, first)                                                                                              \
    float near[11];                                                                                                               \
    if (HAS_BIAS == 1u) {                                                                                                         \
        [[unroll]] for (int n_ = 0; n_ < 11; ++n_)                                                                                \
            near[n_] = bias[(head) * biasStride + uint(clamp((first) + n_, 0, int(queries + keys) - 2))] * LOG2_E;                \
    }

// The label of a cell of query `row` of a tile, 0 to 7, and those of four; `vector` is that of the keys, 0 to 7.
#define LABEL(pattern, row, key) uint(labels[((pattern) * 8 + (row)) * 32 + (key)])
#define LABELS4(pattern, row, vector)                                                                                             \
    uvec4(LABEL(pattern, row, (vector) * 4), LABEL(pattern, row, (vector) * 4 + 1), LABEL(pattern, row, (vector) * 4 + 2),         \
          LABEL(pattern, row, (vector) * 4 + 3))
// Adds to the dot products of row i of q (lanes are rows) with four keys those with the vectors of the four cells.
#define ADD_LABEL_DOTS(products, head, qBase, pattern, lane)                                                                      \
    if (HAS_LABELS == 1u) {                                                                                                       \
        for (uint d_ = 0; d_ < headVectors; ++d_) {                                                                               \
            const vec4 a_ = LOAD4(q, (qBase) + d_);                                                                               \
            [[unroll]] for (uint i_ = 0; i_ < WIDTH; ++i_) {                                                                      \
                const vec4 s_ = SHUFFLE4(a_, i_);                                                                                 \
                const uvec4 at_ = ((head) * labelCount + LABELS4(pattern, i_, lane)) * headVectors + d_;                          \
                products[i_] += vec4(dot(s_, LOAD4(vectors, at_.x)), dot(s_, LOAD4(vectors, at_.y)),                              \
                                     dot(s_, LOAD4(vectors, at_.z)), dot(s_, LOAD4(vectors, at_.w)));                             \
            }                                                                                                                     \
        }                                                                                                                         \
    }
