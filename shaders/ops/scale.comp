#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint vectors;
    float factor;
};
INPUT4(1, x);
OUTPUT4(2, result);

void main() {
    for (uint index = gl_GlobalInvocationID.x; index < vectors; index += gl_NumWorkGroups.x * 64)
        result[index] = LOAD4(x, index) * factor;
}
