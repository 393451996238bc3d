// What every fused attention kernel shares: z[t,h,:] = gate[h] * softmax over the visible s of (q[t,h] . k[s,g] * scale + bias) . v[s,g].
// Include after tensor.glsl and attention.glsl.
//
// Bindings   1 q [T,H,D]  2 k [S,G,D]  3 v [S,G,D]  4 queryPosition I32 [T]  5 keyPosition I32 [S]  6 gates [H]  7 z [T,H,D]
//            8 statistics [H,T,4]: maximum of the scores times log2 e, 1 / sum of their exponentials, 0, 0
//            9 bias [H,N] by key position minus query position, from -(N-1)/2 to (N-1)/2; unread where there is none
// Push       ATTENTION_PUSH: T, S, H, G, ceil(D / 4), scale, window, causal, liveSlot of T, liveSlot of S, sequence
// Constants  0 and 1: local size; 4: N, 0 for no bias
//
// Softmax is computed online over blocks of keys (Dao et al. 2022, arXiv:2205.14135, algorithm 1; Milakov and Gimelshein 2018,
// arXiv:1805.02867), in powers of two. A row that sees nothing gives zeros.

layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push { ATTENTION_PUSH };
INPUT4(1, q);
INPUT4(2, k);
INPUT4(3, v);
INPUT_I(4, queryPosition);
layout(std430, binding = 5) readonly buffer keyPositionBuffer { ivec4 keyPosition4[]; };
INPUT_F(6, gates);
OUTPUT4(7, z);
OUTPUT4(8, statistics);
INPUT_F(9, bias);
layout(constant_id = 4) const uint DISTANCES = 0;

#include "attention_tile.glsl"

// Four scores in powers of two. @param dots q.k
vec4 scores4(vec4 dots, uint head, int queryAt, ivec4 keyAt) {
    if (DISTANCES == 0u) return dots * (scale * LOG2_E);
    const int first = int(head * ((DISTANCES + 3u) / 4u * 4u)), last = int(DISTANCES) - 1;
    const ivec4 at = first + clamp(keyAt - queryAt + last / 2, 0, last);
    return (dots * scale + vec4(bias[at.x], bias[at.y], bias[at.z], bias[at.w])) * LOG2_E;
}
