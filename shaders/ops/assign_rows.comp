#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"

// Copies each live row of a value over the row of a state that `rows` names. Words, so integers too.
layout(push_constant) uniform Push {
    uint count, unit, capacity, liveSlot;
};
INPUT_U(1, value);
INPUT_I(2, rows);
OUTPUT_U(3, state);

void main() {
    const uint index = FLAT_INDEX;
    if (index >= liveCount(count, liveSlot) * unit) return;
    const uint t = index / unit;
    const int row = rows[t];
    if (row >= 0 && row < int(capacity)) state[uint(row) * unit + index % unit] = value[index];
}
