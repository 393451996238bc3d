#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// Copies the live rows of a value over rows of a state, from the row that a step scalar names. Words, so integers too.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint rows, unit, capacity, atSlot, liveSlot;
};
INPUT_U(1, value);
OUTPUT_U(2, state);

void main() {
    const uint at = STEP_UINT(atSlot);
    const uint live = min(liveCount(rows, liveSlot), capacity - min(at, capacity));
    for (uint index = gl_GlobalInvocationID.x; index < live * unit; index += gl_NumWorkGroups.x * gl_WorkGroupSize.x)
        state[at * unit + index] = value[index];
}
