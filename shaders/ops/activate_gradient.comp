#version 450
#extension GL_GOOGLE_include_directive : require
#include "activation.glsl"
#include "tensor.glsl"
#include "flat.glsl"

// dx = f'(x) dy, one vec4 per invocation.
layout(constant_id = 0) const uint KIND = 0;
layout(push_constant) uniform Push { uint vectors; };
INPUT4(1, x);
INPUT4(2, dy);
OUTPUT4(3, dx);

void main() {
    const uint index = FLAT_INDEX;
    if (index < vectors) dx[index] = activationDerivative4(KIND, LOAD4(x, index)) * LOAD4(dy, index);
}
