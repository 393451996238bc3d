#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "slots.glsl"

// One step of stochastic gradient descent with momentum, in place (Sutskever et al. 2013; PyTorch's convention for the rate).
layout(push_constant) uniform Push {
    SLOT_PUSH
    float momentum, decay, rateFactor;
    uint decays; // bit n: slot n decays
};
INPUT_F(1, factor); // on the gradients; below 0: no update
#define TENSORS(slot)                                                                                                             \
    INPUT4(2 + 3 * slot, gradient##slot);                                                                                         \
    layout(std430, binding = 3 + 3 * slot) buffer parameterBuffer##slot { vec4 parameter##slot[]; };                              \
    layout(std430, binding = 4 + 3 * slot) buffer velocityBuffer##slot { vec4 velocity##slot[]; };
FOR_SLOTS(TENSORS)

#define UPDATE(n)                                                                                                                 \
    FOR_VECTORS(n) {                                                                                                              \
        const vec4 p = parameter##n[index];                                                                                       \
        const vec4 u = momentum * velocity##n[index] + LOAD4(gradient##n, index) * factor[0] +                                    \
                       (decays >> n & 1u) * decay * p;                                                                            \
        velocity##n[index] = u;                                                                                                   \
        parameter##n[index] = p - STEP_FLOAT(STEP_LEARNING_RATE) * rateFactor * u;                                                \
    }

void main() {
    if (factor[0] < 0.0) return;
    LOCATE_SLOT
    FOR_SLOTS(UPDATE)
}
