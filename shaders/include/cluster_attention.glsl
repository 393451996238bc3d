// What the kernels of attention within clusters share: of each member t of a cluster, z[t,:] += 1 / count[t] times the softmax over the
// members s of scale u(q[t]) . u(k[s]), times v[s,:], where u moves a row to mean 0 and length 1. One dispatch computes one cluster, as a
// token may be in several: eight members per set of lanes against 32 members at a time. Include after tensor.glsl and lanes8.glsl.
//
//   queryIds, keyIds   I32 [B,H,c,w]: the members of each cluster, ascending; under a causal mask the same
//   sphere             [B,H,4,T]: mean and 1 / length of each row of q less its mean, and those of k
//
// Local size 8 x L. Grid ceil(tiles of eight members / L) x B H x ceil(D / (32 BLOCKS)).
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const uint BLOCKS = 2; // of 32 features, 1 or 2
layout(push_constant) uniform Push {
    uint tokens, headVectors;
    float scale;
    uint width, members, clusters, causal, cluster;
};
INPUT4(1, q);
INPUT4(2, k);
INPUT4(3, v);
layout(std430, binding = 4) readonly buffer QueryIdsBuffer { ivec4 queryIds[]; };
layout(std430, binding = 5) readonly buffer KeyIdsBuffer { ivec4 keyIds[]; };
INPUT_F(6, sphere);
#include "attention_products.glsl"

const uint MEAN_Q = 0, INVERSE_Q = 1, MEAN_K = 2, INVERSE_K = 3;

uint rowOfCluster() { return gl_WorkGroupID.y * clusters + cluster; }
// Where members 4 n to 4 n + 3 lie; the last ones beyond the last member.
uint fourAt(uint n) { return rowOfCluster() * ((members + 3) / 4) + min(n, (members - 1) / 4); }
uvec4 queriesAt(uint n) { return uvec4(queryIds[fourAt(n)]); }
uvec4 keysAt(uint n) { return uvec4(keyIds[fourAt(n)]); }
uint fourOf(uint place) { return min(place, members - 1) / 4; }
uint partOf(uint place) { return min(place, members - 1) & 3; }

uint paddedTo4(uint count) { return (count + 3) / 4 * 4; }
float sphereOf(uint which, uint token) { return sphere[(gl_WorkGroupID.y * 4 + which) * paddedTo4(tokens) + token]; }
vec4 spheresOf(uint which, uvec4 token) {
    return vec4(sphereOf(which, token.x), sphereOf(which, token.y), sphereOf(which, token.z), sphereOf(which, token.w));
}
// Of a member's softmax: 0 the maximum of its scores in powers of two, 1 the inverse of the sum of their exponentials.
uint statisticAt(uint which, uint place) { return (rowOfCluster() * 2 + which) * paddedTo4(members) + place; }
uint deltaAt(uint place) { return rowOfCluster() * paddedTo4(members) + place; }

bvec4 existing4(uint place, uint end) { return lessThan(uvec4(place) + uvec4(0, 1, 2, 3), uvec4(end)); }
bvec4 and4(bvec4 a, bvec4 b) { return bvec4(a.x && b.x, a.y && b.y, a.z && b.z, a.w && b.w); }
