#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint rows, rowVectors, liveSlot;
};
INPUT4(1, x);
OUTPUT4(2, result);

void main() {
    const uint index = gl_GlobalInvocationID.x;
    if (index >= rowVectors) return;
    const uint last = max(liveCount(rows, liveSlot), 1u) - 1u;
    result[index] = LOAD4(x, last * rowVectors + index);
}
