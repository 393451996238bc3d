#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// Rotary position embedding, one float per invocation. Su et al. 2021, arXiv:2104.09864.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint elements, unit, stride, rotated, tableStride, interleaved, liveSlot;
    float turn; // -1: back
};
INPUT_F(1, x);
INPUT_F(2, table); // [positions, rotated]: cosines, then sines
INPUT_I(3, positions);
OUTPUT_F(4, result);

void main() {
    const uint index = gl_GlobalInvocationID.x;
    const uint t = index / unit;
    if (index >= elements || t >= liveCount(elements / unit, liveSlot)) return;
    const uint d = index % stride, half_ = rotated / 2;
    const float value = x[index];
    if (d >= rotated) {
        result[index] = value;
        return;
    }
    const uint pair = interleaved == 1u ? d / 2 : d % half_;
    const bool isFirst = interleaved == 1u ? d % 2 == 0 : d < half_;
    const uint gap = interleaved == 1u ? 1 : half_;
    const uint angles = uint(positions[t]) * tableStride + pair;
    const float other = isFirst ? -x[index + gap] : x[index - gap];
    result[index] = value * table[angles] + other * turn * table[angles + half_];
}
