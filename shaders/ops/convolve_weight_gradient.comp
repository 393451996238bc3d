#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"
#include "convolution.glsl"

// The derivatives by the weights of a convolution: one number per invocation, over a part of the rows of the result.
layout(push_constant) uniform Push { CONVOLUTION_PUSH uint numbers, first, end; };
INPUT_F(1, x);
INPUT_F(2, d);
layout(std430, binding = 3) buffer WeightsBuffer { float dWeights[]; };

void main() {
    const uint at = FLAT_INDEX, o = at % padded(O), tap = at / padded(O) / GROUP_C;
    if (at >= numbers) return;
    const uint c = o / GROUP_O * GROUP_C + at / padded(O) % GROUP_C;
    float sum = first > 0 ? dWeights[at] : 0.0;
    for (uint row = first; row < (o < O ? end : first); ++row) {
        const uint b = row / (yOutput * xOutput), iy = row / xOutput % yOutput * yStride + tap / xTaps * yDilation - yBefore,
                   ix = row % xOutput * xStride + tap % xTaps * xDilation - xBefore;
        if (iy < yInput && ix < xInput) sum += x[((b * yInput + iy) * xInput + ix) * padded(C) + c] * d[row * padded(O) + o];
    }
    dWeights[at] = sum;
}
