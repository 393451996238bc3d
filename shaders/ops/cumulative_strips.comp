#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "strips.glsl"

// Running sums along an axis before the last. Launches for later parts of a long strip go on from the result of those before.
layout(push_constant) uniform Push {
    STRIPS_PUSH
    uint first, end; // the part
    uint isExclusive, isReverse;
};
INPUT4(1, x);
layout(std430, binding = 2) buffer ResultBuffer { vec4 result[]; };

#define AT(i) ((o * strip + (isReverse == 1u ? strip - 1 - (i) : (i))) * vectors + v)

void main() {
    const float includes = isExclusive == 1u ? 0.0 : 1.0;
    FOR_STRIPS {
        const uint last = AT(max(first, 1u) - 1);
        vec4 sum = first > 0 ? result[last] + (1.0 - includes) * LOAD4(x, last) : vec4(0.0);
        for (uint i = first; i < end; ++i) {
            const uint at = AT(i);
            const vec4 value = LOAD4(x, at);
            result[at] = sum + includes * value;
            sum += value;
        }
    }
}
