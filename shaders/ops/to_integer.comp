#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// Floats as integers, rounded down, four per invocation at a time.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint count; };
INPUT4(1, x);
layout(std430, binding = 2) writeonly buffer IntegersBuffer { ivec4 result[]; };

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * 64) result[i] = ivec4(floor(LOAD4(x, i)));
}
