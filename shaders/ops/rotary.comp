#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"

// Rotary position embedding of q and k, one float per invocation: first those of q. Su et al. 2021, arXiv:2104.09864.
layout(push_constant) uniform Push {
    uint qElements, kElements, queries, stride, rotated, tableStride, interleaved, liveSlot;
    float turn; // -1: back
};
INPUT_F(1, q);
INPUT_F(2, k);
INPUT_F(3, table); // [positions, rotated]: cosines, then sines
INPUT_I(4, positions);
OUTPUT_F(5, rotatedQ);
OUTPUT_F(6, rotatedK);

#define ROTATE(x, result, index, elements)                                                                                        \
    {                                                                                                                             \
        const uint t = (index) / ((elements) / queries), d = (index) % stride, half_ = rotated / 2;                               \
        if ((index) >= (elements) || t >= liveCount(queries, liveSlot)) return;                                                   \
        const float value = x[index];                                                                                             \
        if (d >= rotated) {                                                                                                       \
            result[index] = value;                                                                                                \
            return;                                                                                                               \
        }                                                                                                                         \
        const uint pair = interleaved == 1u ? d / 2 : d % half_;                                                                  \
        const bool isFirst = interleaved == 1u ? d % 2 == 0 : d < half_;                                                          \
        const uint gap = interleaved == 1u ? 1 : half_;                                                                           \
        const uint angles = uint(positions[t]) * tableStride + pair;                                                              \
        const float other = isFirst ? -x[(index) + gap] : x[(index) - gap];                                                       \
        result[index] = value * table[angles] + other * turn * table[angles + half_];                                             \
    }

void main() {
    const uint index = FLAT_INDEX;
    if (index < qElements) {
        ROTATE(q, rotatedQ, index, qElements);
    } else {
        ROTATE(k, rotatedK, index - qElements, kElements);
    }
}
