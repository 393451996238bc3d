#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "slots.glsl"

// state = keep * state + x, where `keep` is 0 in the first of several steps that add up and 1 in the others.
layout(push_constant) uniform Push { SLOT_PUSH };
#define TENSORS(slot)                                                                                                             \
    INPUT4(1 + 2 * slot, x##slot);                                                                                                \
    layout(std430, binding = 2 + 2 * slot) buffer stateBuffer##slot { vec4 state##slot[]; };
FOR_SLOTS(TENSORS)

#define UPDATE(n)                                                                                                                 \
    FOR_VECTORS(n)                                                                                                                \
    state##n[index] = (STEP_UINT(STEP_MICRO_STEP) == 0u ? vec4(0.0) : state##n[index]) + LOAD4(x##n, index);

void main() {
    LOCATE_SLOT
    FOR_SLOTS(UPDATE)
}
