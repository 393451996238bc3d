#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "slots.glsl"

// One step of Adam (Kingma and Ba 2015, arXiv:1412.6980) or AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101), in place.
layout(push_constant) uniform Push {
    SLOT_PUSH
    float beta1, beta2, epsilon, decay, rateFactor;
    uint isDecoupled, decays; // bit n: slot n decays
};
INPUT_F(1, factor); // on the gradients; below 0: no update
#define TENSORS(slot)                                                                                                             \
    INPUT4(2 + 4 * slot, gradient##slot);                                                                                         \
    layout(std430, binding = 3 + 4 * slot) buffer parameterBuffer##slot { vec4 parameter##slot[]; };                              \
    layout(std430, binding = 4 + 4 * slot) buffer momentBuffer##slot { vec4 moment##slot[]; };                                    \
    layout(std430, binding = 5 + 4 * slot) buffer varianceBuffer##slot { vec4 variance##slot[]; };
FOR_SLOTS(TENSORS)

#define UPDATE(n)                                                                                                                 \
    FOR_VECTORS(n) {                                                                                                              \
        const float ownDecay = (decays >> n & 1u) * decay;                                                                        \
        vec4 p = parameter##n[index], g = LOAD4(gradient##n, index) * factor[0];                                                  \
        if (isDecoupled == 1u) p *= 1.0 - rate * ownDecay;                                                                        \
        else g += ownDecay * p;                                                                                                   \
        const vec4 m = beta1 * moment##n[index] + (1.0 - beta1) * g, v = beta2 * variance##n[index] + (1.0 - beta2) * g * g;      \
        moment##n[index] = m;                                                                                                     \
        variance##n[index] = v;                                                                                                   \
        parameter##n[index] = p - momentRate * m / (sqrt(v) * STEP_FLOAT(STEP_VARIANCE_CORRECTION) + epsilon);                    \
    }

void main() {
    if (factor[0] < 0.0) return;
    LOCATE_SLOT
    const float rate = STEP_FLOAT(STEP_LEARNING_RATE) * rateFactor, momentRate = rate * STEP_FLOAT(STEP_MOMENT_CORRECTION);
    FOR_SLOTS(UPDATE)
}
