#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"

// z[t,h,:] = sum over s of pattern[h,t,s] v[s,g,:], one vec4 per invocation.
layout(push_constant) uniform Push {
    uint queries, keys, heads, groups, headVectors, patternStride, queryLiveSlot, keyLiveSlot;
};
INPUT_F(1, pattern);
INPUT4(2, v);
OUTPUT4(3, z);

void main() {
    const uint index = FLAT_INDEX;
    const uint vector = index % headVectors, head = index / headVectors % heads, t = index / (headVectors * heads);
    if (t >= liveCount(queries, queryLiveSlot)) return;
    const uint group = head / (heads / groups), live = liveCount(keys, keyLiveSlot);
    vec4 sum = vec4(0.0);
    for (uint begin = 0; begin < live; begin += 32768) // software Vulkan ends a loop after 65,535 rounds
        for (uint s = begin; s < min(begin + 32768, live); ++s)
            sum += pattern[(head * queries + t) * patternStride + s] * LOAD4(v, (s * groups + group) * headVectors + vector);
    z[index] = sum;
}
