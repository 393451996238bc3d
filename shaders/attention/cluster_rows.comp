#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// From the gradient g of u(x) to that of x, in place: (g - mean(g) - u (u . g)) / |x - mean(x)|. One row per invocation.
// Local size 64. Grid ceil(tokens / 64) x B H.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint tokens, headVectors, width, ofKeys; };
INPUT4(1, x);
INPUT_F(2, sphere); // [B,H,4,T]
layout(std430, binding = 3) buffer GradientBuffer { vec4 gradient[]; };

// 1 for the features of this vector, 0 in the padding.
vec4 features(uint vector) { return mix(vec4(0.0), vec4(1.0), lessThan(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(width))); }

void main() {
    const uint token = gl_GlobalInvocationID.x;
    if (token >= tokens) return;
    const uint base = (gl_WorkGroupID.y * tokens + token) * headVectors, stride = (tokens + 3) / 4 * 4;
    const uint at = (gl_WorkGroupID.y * 4 + 2 * ofKeys) * stride + token;
    const float mean = sphere[at], inverse = sphere[at + stride];
    float sum = 0.0, along = 0.0;
    for (uint d = 0; d < headVectors; ++d) {
        const vec4 g = gradient[base + d];
        sum += dot(g, vec4(1.0));
        along += dot(g, (LOAD4(x, base + d) - mean * features(d)) * inverse);
    }
    for (uint d = 0; d < headVectors; ++d) {
        const vec4 u = (LOAD4(x, base + d) - mean * features(d)) * inverse;
        gradient[base + d] = (gradient[base + d] - sum / float(width) * features(d) - along * u) * inverse;
    }
}
