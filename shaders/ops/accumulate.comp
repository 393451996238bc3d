#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// state = keep * state + x, where `keep` is 0 in the first of several steps that add up and 1 in the others.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint vectors; };
INPUT4(1, x);
layout(std430, binding = 2) buffer stateBuffer { vec4 state[]; };

void main() {
    const uint index = gl_GlobalInvocationID.x;
    if (index >= vectors) return;
    const vec4 before = STEP_UINT(STEP_MICRO_STEP) == 0u ? vec4(0.0) : state[index];
    state[index] = before + LOAD4(x, index);
}
