#version 450
#extension GL_GOOGLE_include_directive : require
#include "activation.glsl"
#include "tensor.glsl"
#include "flat.glsl"

// Every activation is 0 at 0, so the padding stays zero.
layout(constant_id = 0) const uint KIND = 0;
layout(push_constant) uniform Push {
    uint vectors, unitVectors, liveSlot;
};
INPUT4(1, x);
OUTPUT4(2, result);

void main() {
    const uint index = FLAT_INDEX;
    if (index >= liveVectors(vectors, unitVectors, liveSlot)) return;
    result[index] = activate4(KIND, LOAD4(x, index));
}
