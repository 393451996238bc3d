#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// z[b,h,t,d] = the logistic function of q[t,d], if there is one, times the sum over the visible s of e^(k[s,d] + w[t,s]) v[s,d] / the sum of these weights: four channels of one query per
// invocation, relative to the largest exponent so far.
//
//   w         table [1|H, 1|T, keys or distances], or products of the rows of two factors; 0 at distances of WINDOW or more
//
// Grid ceil(T D4 / 64) x B H.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint HAS_TABLE = 1;
layout(constant_id = 1) const uint IS_GATED = 0;
layout(push_constant) uniform Push {
    uint queries, keys, heads, vectors, tableHead, tableRow, factorVectors, window, behind, ahead;
};
INPUT4(1, k);
INPUT4(2, v);
INPUT_F(3, table);
INPUT4(4, queryFactors);
INPUT4(5, keyFactors);
INPUT4(6, q);
OUTPUT4(7, z);

void main() {
    const uint t = gl_GlobalInvocationID.x / vectors, d = gl_GlobalInvocationID.x % vectors, head = gl_WorkGroupID.y % heads;
    if (t >= queries) return;
    const uint first = t - min(t, behind), end = min(t + ahead + 1, keys), base = gl_WorkGroupID.y * keys;
    vec4 most = vec4(NOTHING_SEEN), top = vec4(0.0), bottom = vec4(0.0);
    for (uint block = first; block < end; block += 1024) // software Vulkan ends a loop after 65,535 rounds
        for (uint s = block; s < min(block + 1024, end); ++s) {
            const int distance = int(s) - int(t);
            float w = 0.0;
            if (window == 0u || uint(abs(distance)) < window) {
                if (HAS_TABLE == 1u) {
                    w = table[head * tableHead + t * tableRow + (window == 0u ? s : uint(distance + int(window) - 1))];
                } else {
                    for (uint f = 0; f < factorVectors; ++f)
                        w += dot(LOAD4(queryFactors, t * factorVectors + f), LOAD4(keyFactors, s * factorVectors + f));
                }
            }
            const uint at = (base + s) * vectors + d;
            const vec4 exponent = LOAD4(k, at) + w, larger = max(most, exponent), keep = exp(most - larger), weight = exp(exponent - larger);
            most = larger;
            top = top * keep + weight * LOAD4(v, at);
            bottom = bottom * keep + weight;
        }
    const uint own = (gl_WorkGroupID.y * queries + t) * vectors + d;
    vec4 mean = mix(vec4(0.0), top / bottom, greaterThan(bottom, vec4(0.0)));
    if (IS_GATED == 1u) mean /= 1.0 + exp(-LOAD4(q, own));
    z[own] = mean;
}
