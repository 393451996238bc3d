// What the kernels of attention within buckets share: z[t,:] = softmax over the visible s of (q[t] . k[s] * scale, less 256 where s = t)
// . v[s,:]. In each round the tokens lie sorted, and a query sees the keys whose code is its own or one less. One dispatch computes one
// round: eight places of it per set of lanes against 32 places at a time. Pairs that an earlier round has met are left out. Include after
// tensor.glsl and lanes8.glsl.
//
//   order     I32 [B,H,R,T]: the token at each place of each round; the codes rise along the places
//   code      I32 [B,H,R,T]: by token
//
// Local size 8 x L. Grid ceil(tiles of eight places / L) x B H x ceil(D / (32 BLOCKS)).
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const uint BLOCKS = 2; // of 32 features, 1 or 2
layout(push_constant) uniform Push {
    uint tokens, headVectors;
    float scale;
    uint chunk, causal, round, rounds;
};
layout(std430, binding = 4) readonly buffer OrderBuffer { ivec4 order[]; };
INPUT_I(5, code);
#include "attention_products.glsl"

const float OWN_PENALTY = 256.0 * LOG2_E; // kOwnPenalty

uint foursBefore(uint other) { return (gl_WorkGroupID.y * rounds + other) * ((tokens + 3) / 4); }
// The tokens at places 4 n to 4 n + 3 of this round; any token beyond the last place.
uvec4 tokensAt(uint n) { return min(uvec4(order[foursBefore(round) + min(n, (tokens - 1) / 4)]), uvec4(tokens - 1)); }
uint tokenAt(uint place) {
    const uint at = min(place, tokens - 1);
    return tokensAt(at / 4)[at & 3];
}
int codeOf(uint other, uint token) { return code[foursBefore(other) * 4 + token]; }
ivec4 codesOf(uint other, uvec4 token) {
    return ivec4(codeOf(other, token.x), codeOf(other, token.y), codeOf(other, token.z), codeOf(other, token.w));
}
int codeAt(uint place) { return codeOf(round, tokenAt(place)); }

bvec4 and4(bvec4 a, bvec4 b) { return bvec4(a.x && b.x, a.y && b.y, a.z && b.z, a.w && b.w); }
bvec4 existing4(uint place, uint end) { return lessThan(uvec4(place) + uvec4(0, 1, 2, 3), uvec4(end)); }
// Whether a query meets a key. @param difference of their codes
bvec4 meets4(ivec4 difference) { return lessThan(uvec4(difference), uvec4(2)); }
