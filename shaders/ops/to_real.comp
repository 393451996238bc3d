#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// Integers as floats, four per invocation at a time.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint count; };
layout(std430, binding = 1) readonly buffer IntegersBuffer { ivec4 x[]; };
OUTPUT4(2, result);

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * 64) result[i] = vec4(x[i]);
}
