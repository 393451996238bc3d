#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// Count, mean, sum of squared distances from the mean, smallest and largest of what is finite, and how much is not: each
// invocation of its own share of a tensor. Welford 1962, "Note on a method for calculating corrected sums of squares and
// products".
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint vectors, rowVectors, columns, parts, unitVectors, liveSlot; };
INPUT4(1, x);
OUTPUT4(2, shares); // [parts, 8]

void main() {
    const uint part = gl_GlobalInvocationID.x;
    if (part >= parts) return;
    float count = 0.0, mean = 0.0, squares = 0.0, nans = 0.0, infinities = 0.0, masked = 0.0;
    float least = uintBitsToFloat(0x7f7fffffu), most = -least;
    const uint all = liveVectors(vectors, unitVectors, liveSlot);
    for (uint i = part; i < all; i += parts) {
        const vec4 values = LOAD4(x, i);
        const uint column = i % rowVectors * 4;
        for (uint lane = 0; lane < 4; ++lane) {
            const float value = values[lane];
            const uint magnitude = floatBitsToUint(value) & 0x7fffffffu; // isnan() may be optimised away
            if (column + lane >= columns) continue;
            if (magnitude >= 0x7f800000u) {
                nans += magnitude > 0x7f800000u ? 1.0 : 0.0;
                infinities += magnitude > 0x7f800000u ? 0.0 : 1.0;
                continue;
            }
            if (value <= MASKED) {
                masked += 1.0;
                continue;
            }
            count += 1.0;
            const float distance = value - mean;
            mean += distance / count;
            squares += distance * (value - mean);
            least = min(least, value);
            most = max(most, value);
        }
    }
    shares[part * 2] = vec4(count, mean, squares, nans);
    shares[part * 2 + 1] = vec4(least, most, infinities, masked);
}
