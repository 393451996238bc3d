#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// The global norm of the gradients and the factor that keeps it below `maximum` (0: 1), from the squares of every tensor.
layout(local_size_x = 1) in;
layout(push_constant) uniform Push {
    uint count;
    float maximum;
};
INPUT4(1, squares);
OUTPUT4(2, norm);
OUTPUT4(3, factor);

void main() {
    float sum = 0.0;
    for (uint i = 0; i < count; ++i) sum += LOAD4(squares, i).x;
    const float length_ = sqrt(sum);
    norm[0] = vec4(length_, 0.0, 0.0, 0.0);
    factor[0] = vec4(maximum > 0.0 ? min(1.0, maximum / (length_ + 1e-6)) : 1.0, 0.0, 0.0, 0.0);
}
