#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// f'(x) dy, one vec4 per invocation at a time, from x or from y = f(x), whichever tells it. The padding stays zero.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint FUNCTION = 0; // as in unary.comp
layout(constant_id = 1) const uint HAS_PADDING = 0;
layout(push_constant) uniform Push {
    uint count, columns;
    float first, second;
};
INPUT4(1, known); // x or y
INPUT4(2, dy);
OUTPUT4(3, dx);

vec4 derivative(vec4 v) {
    switch (FUNCTION) {
    case 0u: return v;
    case 1u: return 1.0 / v;
    case 2u: return 1.0 - v * v;
    case 3u: return v * (1.0 - v);
    case 4u: return 2.0 * v;
    case 5u: return 0.5 / v;
    case 6u: return -v * v;
    case 7u: return -0.5 * v * v * v;
    case 8u: return sign(v);
    case 9u: return cos(v);
    case 10u: return -sin(v);
    case 12u: return min(v, 1.0);
    case 13u: return vec4(greaterThan(v, vec4(0.0)));
    default: return vec4(greaterThanEqual(v, vec4(first))) * vec4(lessThanEqual(v, vec4(second)));
    }
}

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * 64) {
        vec4 d = derivative(LOAD4(known, i)) * LOAD4(dy, i);
        if (HAS_PADDING == 1u)
            d = mix(vec4(0.0), d, lessThan(uvec4(i % ((columns + 3) / 4) * 4) + uvec4(0, 1, 2, 3), uvec4(columns)));
        dx[i] = d;
    }
}
