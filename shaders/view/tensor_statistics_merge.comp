#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// The shares of tensor_statistics.comp as one. Chan, Golub and LeVeque 1979, "Updating formulae and a pairwise algorithm
// for computing sample variances".
layout(local_size_x = 1) in;
layout(push_constant) uniform Push { uint parts; };
INPUT4(1, shares);
OUTPUT4(2, result); // smallest, largest, mean, standard deviation, finite, NaN, infinite, masked

void main() {
    float count = 0.0, mean = 0.0, squares = 0.0, nans = 0.0, infinities = 0.0, masked = 0.0;
    float least = uintBitsToFloat(0x7f7fffffu), most = -least;
    for (uint part = 0; part < parts; ++part) {
        const vec4 share = LOAD4(shares, part * 2), range = LOAD4(shares, part * 2 + 1);
        nans += share.w;
        infinities += range.z;
        masked += range.w;
        if (share.x == 0.0) continue;
        const float total = count + share.x, distance = share.y - mean;
        squares += share.z + distance * distance * (count * share.x / total);
        mean += distance * (share.x / total);
        count = total;
        least = min(least, range.x);
        most = max(most, range.y);
    }
    result[0] = count == 0.0 ? vec4(0.0) : vec4(least, most, mean, sqrt(squares / count));
    result[1] = vec4(count, nans, infinities, masked);
}
