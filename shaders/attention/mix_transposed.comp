#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"

// result[s,g,:] = sum over t and the heads of group g of pattern[h,t,s] x[t,h,:], one vec4 per invocation.
layout(push_constant) uniform Push { uint queries, keys, heads, groups, headVectors, patternStride; };
INPUT_F(1, pattern);
INPUT4(2, x);
OUTPUT4(3, result);

void main() {
    const uint index = FLAT_INDEX;
    const uint vector = index % headVectors, group = index / headVectors % groups, s = index / (headVectors * groups);
    if (s >= keys) return;
    const uint share = heads / groups;
    vec4 sum = vec4(0.0);
    for (uint head = group * share; head < (group + 1) * share; ++head)
        for (uint begin = 0; begin < queries; begin += 32768) // software Vulkan ends a loop after 65,535 rounds
            for (uint t = begin; t < min(begin + 32768, queries); ++t)
                sum += pattern[(head * queries + t) * patternStride + s] * LOAD4(x, (t * heads + head) * headVectors + vector);
    result[index] = sum;
}
