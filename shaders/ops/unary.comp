#version 450
#extension GL_GOOGLE_include_directive : require
#include "activation.glsl"
#include "tensor.glsl"

// A function of every element, one vec4 per invocation at a time. The padding stays zero also where f(0) is not.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint FUNCTION = 0; // the order of attn::Unary, then affine and clamp
layout(constant_id = 1) const uint HAS_PADDING = 0;
layout(push_constant) uniform Push {
    uint count, columns;
    float first, second; // factor and offset, or the limits
};
INPUT4(1, x);
OUTPUT4(2, result);

vec4 valueOf(vec4 v) {
    switch (FUNCTION) {
    case 0u: return exp(v);
    case 1u: return log(v);
    case 2u: return tanh4(v);
    case 3u: return sigmoid4(v);
    case 4u: return v * v;
    case 5u: return sqrt(v);
    case 6u: return 1.0 / v;
    case 7u: return 1.0 / sqrt(v);
    case 8u: return abs(v);
    case 9u: return sin(v);
    case 10u: return cos(v);
    case 11u: return floor(v);
    case 12u: return orNotANumber4(v, mix(exp(min(v, 0.0)), v + 1.0, greaterThan(v, vec4(0.0))));
    case 13u: return orNotANumber4(v, max(v, 0.0));
    case 14u: return -v;
    case 15u: return v * first + second;
    default: return orNotANumber4(v, min(max(v, first), second));
    }
}

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * 64) {
        vec4 y = valueOf(LOAD4(x, i));
        if (HAS_PADDING == 1u)
            y = mix(vec4(0.0), y, lessThan(uvec4(i % ((columns + 3) / 4) * 4) + uvec4(0, 1, 2, 3), uvec4(columns)));
        result[i] = y;
    }
}
