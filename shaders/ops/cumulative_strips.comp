#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "strips.glsl"

// Running sums along an axis before the last.
layout(push_constant) uniform Push {
    STRIPS_PUSH
    uint isExclusive, isReverse;
};
INPUT4(1, x);
OUTPUT4(2, result);

void main() {
    const float includes = isExclusive == 1u ? 0.0 : 1.0;
    FOR_STRIPS {
        vec4 sum = vec4(0.0);
        FOR_STRIP(i) {
            const uint at = IN_STRIP(isReverse == 1u ? strip - 1 - i : i);
            const vec4 value = LOAD4(x, at);
            result[at] = sum + includes * value;
            sum += value;
        }
    }
}
