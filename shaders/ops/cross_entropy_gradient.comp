#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"

// dLogits = dLosses * weights * (p - (1 - smoothing) [target] - smoothing / V), one subgroup per row.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push {
    uint rows, columns;
    float smoothing;
};
INPUT4(1, logits);
INPUT_I(2, targets);
INPUT_F(3, weights);
INPUT_F(4, dLosses);
OUTPUT4(5, dLogits);
#include "cross_entropy.glsl"

void main() {
    const uint row = gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    if (row >= rows) return;
    const uint vectors = (columns + 3) / 4, base = row * vectors;
    const int target = targets[row];
    const float factor = target >= 0 ? weights[row] * dLosses[row] : 0.0;
    const vec2 softmax = rowSoftmax(base, vectors);
    for (uint i = gl_SubgroupInvocationID; i < vectors; i += gl_SubgroupSize) {
        const ivec4 column = ivec4(i * 4) + ivec4(0, 1, 2, 3);
        const vec4 wanted = (1.0 - smoothing) * vec4(equal(column, ivec4(target))) + smoothing / float(columns);
        const vec4 d = factor * (exp(loadLogits(base, i) - softmax.x) / softmax.y - wanted);
        dLogits[base + i] = d * vec4(lessThan(column, ivec4(columns)));
    }
}
