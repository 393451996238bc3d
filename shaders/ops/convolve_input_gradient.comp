#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"
#include "convolution.glsl"

// The derivatives by what a convolution reads: one number per invocation.
layout(push_constant) uniform Push { CONVOLUTION_PUSH uint numbers; };
INPUT_F(1, d);
INPUT_F(2, weights); // [taps, C / groups, O]
OUTPUT_F(3, dx);

void main() {
    const uint at = FLAT_INDEX, row = at / padded(C), c = at % padded(C);
    if (at >= numbers) return;
    float sum = 0.0;
    const uint b = row / (yInput * xInput), iy = row / xInput % yInput, ix = row % xInput, group = c / GROUP_C;
    for (uint tap = 0; tap < (c < C ? yTaps * xTaps : 0u); ++tap) {
        const uint y = iy + yBefore - tap / xTaps * yDilation, x = ix + xBefore - tap % xTaps * xDilation;
        // What lies before is huge.
        if (y % yStride != 0 || x % xStride != 0 || y / yStride >= yOutput || x / xStride >= xOutput) continue;
        const uint from = ((b * yOutput + y / yStride) * xOutput + x / xStride) * padded(O) + group * GROUP_O,
                   own = (tap * GROUP_C + c % GROUP_C) * padded(O) + group * GROUP_O;
        for (uint o = 0; o < GROUP_O; ++o) sum += d[from + o] * weights[own + o];
    }
    dx[at] = sum;
}
