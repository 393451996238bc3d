#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"

// losses[m] = -weights[m] * ((1 - smoothing) log p[target] + smoothing * mean of log p); 0 where the target is negative.
// One subgroup per row; rows beyond M of the last vector are written as padding.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push {
    uint rows, columns;
    float smoothing;
};
INPUT4(1, logits);
INPUT_I(2, targets);
INPUT_F(3, weights);
OUTPUT_F(4, losses);
#include "cross_entropy.glsl"

void main() {
    const uint row = gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    if (row >= (rows + 3) / 4 * 4) return;
    const uint vectors = (columns + 3) / 4, base = min(row, rows - 1) * vectors;
    const int target = targets[min(row, rows - 1)];
    const vec2 softmax = rowSoftmax(base, vectors);
    float all = 0.0, own = 0.0;
    for (uint i = gl_SubgroupInvocationID; i < vectors; i += gl_SubgroupSize) {
        const vec4 logit = loadLogits(base, i);
        for (uint c = 0; c < 4; ++c) {
            if (i * 4 + c < columns) all += logit[c] - softmax.x;
            if (int(i * 4 + c) == target) own = logit[c] - softmax.x;
        }
    }
    const float logSum = log(softmax.y), logTarget = subgroupAdd(own) - logSum, logMean = subgroupAdd(all) / float(columns) - logSum;
    if (gl_SubgroupInvocationID == 0)
        losses[row] = row < rows && target >= 0 ? -weights[row] * ((1.0 - smoothing) * logTarget + smoothing * logMean) : 0.0;
}
