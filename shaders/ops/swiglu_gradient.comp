#version 450
#extension GL_GOOGLE_include_directive : require
#include "activation.glsl"
#include "tensor.glsl"
#include "flat.glsl"

// Gradients of silu(gate) * up, one vec4 per invocation.
layout(push_constant) uniform Push { uint vectors; };
INPUT4(1, gate);
INPUT4(2, up);
INPUT4(3, dy);
OUTPUT4(4, dGate);
OUTPUT4(5, dUp);

void main() {
    const uint index = FLAT_INDEX;
    if (index >= vectors) return;
    const vec4 g = LOAD4(gate, index), d = LOAD4(dy, index);
    dGate[index] = activationDerivative4(3u, g) * LOAD4(up, index) * d;
    dUp[index] = activate4(3u, g) * d;
}
