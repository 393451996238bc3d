#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"

// The global norm of the gradients and the factor that keeps it below `maximum` (0: 1), from the squares of every tensor, by one
// subgroup. If overflow is refused and the norm is not finite, the factor is -1, at which updates leave all as it is.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push {
    uint vectors;
    float maximum;
    uint refusesOverflow;
};
INPUT4(1, squares);
OUTPUT4(2, norm);
OUTPUT4(3, factor);

void main() {
    vec4 sum = vec4(0.0);
    for (uint i = gl_SubgroupInvocationID; i < vectors; i += gl_SubgroupSize) sum += LOAD4(squares, i);
    const float length_ = sqrt(subgroupAdd(sum.x + sum.y + sum.z + sum.w));
    if (gl_SubgroupInvocationID != 0) return;
    norm[0] = vec4(length_, 0.0, 0.0, 0.0);
    const bool isFinite = (floatBitsToUint(length_) & 0x7f800000u) != 0x7f800000u;
    const float clipped = maximum > 0.0 ? min(1.0, maximum / (length_ + 1e-6)) : 1.0;
    factor[0] = vec4(refusesOverflow == 1u && !isFinite ? -1.0 : clipped, 0.0, 0.0, 0.0);
}
