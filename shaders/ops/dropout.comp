#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"

// Zeroes each element with probability `rate` and scales the rest by 1 / (1 - rate). Philox4x32-10 (Salmon et al. 2011) with counter
// (vector, step, site, 0) and the seed as key: a replayed step draws what it drew before, in any order.
layout(push_constant) uniform Push {
    uint vectors, site, threshold; // of 2^32
    float factor;
};
INPUT4(1, x);
OUTPUT4(2, result);

uvec4 philox(uvec4 counter, uvec2 key) {
    for (uint round = 0; round < 10; ++round) {
        uint aHigh, aLow, bHigh, bLow;
        umulExtended(0xD2511F53u, counter.x, aHigh, aLow);
        umulExtended(0xCD9E8D57u, counter.z, bHigh, bLow);
        counter = uvec4(bHigh ^ counter.y ^ key.x, bLow, aHigh ^ counter.w ^ key.y, aLow);
        key += uvec2(0x9E3779B9u, 0xBB67AE85u);
    }
    return counter;
}

void main() {
    const uint index = FLAT_INDEX;
    if (index >= vectors) return;
    const uvec4 words = philox(uvec4(index, STEP_UINT(STEP_COUNTER), site, 0u), uvec2(STEP_UINT(STEP_SEED), 0u));
    result[index] = LOAD4(x, index) * factor * vec4(greaterThanEqual(words, uvec4(threshold)));
}
