#version 450
#extension GL_GOOGLE_include_directive : require
#include "activation.glsl"
#include "tensor.glsl"

// Element-wise on two tensors of one shape, one vec4 per invocation at a time. f(0, 0) = 0 keeps the padding zero.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint KIND = 0; // 0 add, 1 multiply, 2 silu(a) * b
layout(push_constant) uniform Push {
    uint vectors, unitVectors, liveSlot;
};
INPUT4(1, a);
INPUT4(2, b);
OUTPUT4(3, result);

void main() {
    const uint live = liveVectors(vectors, unitVectors, liveSlot);
    for (uint index = gl_GlobalInvocationID.x; index < live; index += gl_NumWorkGroups.x * 64) {
        const vec4 x = LOAD4(a, index), y = LOAD4(b, index);
        result[index] = KIND == 0u ? x + y : KIND == 1u ? x * y : activate4(3u, x) * y;
    }
}
