#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "strips.glsl"

// Sums or maxima along axes before the last.
layout(constant_id = 0) const uint IS_MAXIMUM = 0;
layout(push_constant) uniform Push {
    STRIPS_PUSH
    float factor;
};
INPUT4(1, x);
OUTPUT4(2, result);

void main() {
    FOR_STRIPS {
        vec4 y = IS_MAXIMUM == 1u ? LOAD4(x, IN_STRIP(0)) : vec4(0.0);
        FOR_STRIP(i) {
            const vec4 value = LOAD4(x, IN_STRIP(i));
            y = IS_MAXIMUM == 1u ? max(y, value) : y + value;
        }
        result[o * vectors + v] = y * factor;
    }
}
