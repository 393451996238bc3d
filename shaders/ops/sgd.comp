#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// One step of stochastic gradient descent with momentum, in place (Sutskever et al. 2013; PyTorch's convention for the rate).
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint vectors;
    float momentum, decay;
};
INPUT4(1, gradient);
INPUT_F(2, factor); // on the gradient
layout(std430, binding = 3) buffer parameterBuffer { vec4 parameter[]; };
layout(std430, binding = 4) buffer velocityBuffer { vec4 velocity[]; };

void main() {
    const uint index = gl_GlobalInvocationID.x;
    if (index >= vectors) return;
    const vec4 p = parameter[index];
    const vec4 u = momentum * velocity[index] + LOAD4(gradient, index) * factor[0] + decay * p;
    velocity[index] = u;
    parameter[index] = p - STEP_FLOAT(STEP_LEARNING_RATE) * u;
}
