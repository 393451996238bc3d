#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "strips.glsl"

// Sums or maxima along axes before the last, of the whole strip or of segments of it, which are indices of the result.
layout(constant_id = 0) const uint IS_MAXIMUM = 0;
layout(push_constant) uniform Push {
    STRIPS_PUSH // outer counts segments of strips
    uint segments, length; // of a strip, and of each but perhaps the last of them
    float factor;
};
INPUT4(1, x);
OUTPUT4(2, result);

void main() {
    FOR_STRIPS {
        const uint first = o % segments * length, begin = (o / segments * strip + first) * vectors + v;
        const uint count = min(length, strip - first);
        vec4 y = IS_MAXIMUM == 1u ? LOAD4(x, begin) : vec4(0.0);
        for (uint i = 0; i < count; ++i) {
            const vec4 value = LOAD4(x, begin + i * vectors);
            y = IS_MAXIMUM == 1u ? max(y, value) : y + value;
        }
        result[o * vectors + v] = y * factor;
    }
}
