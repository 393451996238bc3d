#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// One step of Adam (Kingma and Ba 2015, arXiv:1412.6980) or AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101), in place.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint vectors;
    float beta1, beta2, epsilon, decay;
    uint isDecoupled;
};
INPUT4(1, gradient);
INPUT_F(2, factor); // on the gradient
layout(std430, binding = 3) buffer parameterBuffer { vec4 parameter[]; };
layout(std430, binding = 4) buffer momentBuffer { vec4 moment[]; };
layout(std430, binding = 5) buffer varianceBuffer { vec4 variance[]; };

void main() {
    const uint index = gl_GlobalInvocationID.x;
    if (index >= vectors) return;
    const float rate = STEP_FLOAT(STEP_LEARNING_RATE);
    vec4 p = parameter[index], g = LOAD4(gradient, index) * factor[0];
    if (isDecoupled == 1u) p *= 1.0 - rate * decay;
    else g += decay * p;
    const vec4 m = beta1 * moment[index] + (1.0 - beta1) * g, v = beta2 * variance[index] + (1.0 - beta2) * g * g;
    moment[index] = m;
    variance[index] = v;
    parameter[index] = p - rate * STEP_FLOAT(STEP_MOMENT_CORRECTION) * m / (sqrt(v) * STEP_FLOAT(STEP_VARIANCE_CORRECTION) + epsilon);
}
