#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"
#include "convolution.glsl"

// A convolution: one number of the result per invocation.
layout(push_constant) uniform Push { CONVOLUTION_PUSH uint numbers, hasBias; };
INPUT_F(1, x);
INPUT_F(2, weights); // [taps, C / groups, O]
INPUT_F(3, bias);
OUTPUT_F(4, result);

void main() {
    const uint at = FLAT_INDEX, row = at / padded(O), o = at % padded(O);
    if (at >= numbers) return;
    float sum = o < O && hasBias == 1u ? bias[o] : 0.0;
    const uint b = row / (yOutput * xOutput), oy = row / xOutput % yOutput, ox = row % xOutput, group = o / GROUP_O;
    for (uint tap = 0; tap < (o < O ? yTaps * xTaps : 0u); ++tap) {
        const uint iy = oy * yStride + tap / xTaps * yDilation - yBefore, ix = ox * xStride + tap % xTaps * xDilation - xBefore;
        if (iy >= yInput || ix >= xInput) continue; // what lies before is huge
        const uint from = ((b * yInput + iy) * xInput + ix) * padded(C) + group * GROUP_C, own = tap * GROUP_C * padded(O) + o;
        for (uint c = 0; c < GROUP_C; ++c) sum += x[from + c] * weights[own + c * padded(O)];
    }
    result[at] = sum;
}
