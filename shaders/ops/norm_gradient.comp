#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"

// Gradient of layer norm and RMS norm with respect to x, one subgroup per row; also keeps what the weights' gradient needs.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const uint CENTRES = 1; // 1 layer norm, 0 RMS norm
layout(push_constant) uniform Push {
    uint rows, columns;
    float epsilon;
};
INPUT4(1, x);
INPUT4(2, weight);
INPUT4(3, dy);
OUTPUT4(4, dx);
OUTPUT4(5, statistics); // mean, 1 / deviation, 0, 0

vec4 maskPadding(uint vector) { return vec4(lessThan(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(columns))); }
float sumOf(vec4 v) { return subgroupAdd(v.x + v.y + v.z + v.w); }

void main() {
    const uint row = gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    if (row >= rows) return;
    const uint lane = gl_SubgroupInvocationID, width = gl_SubgroupSize;
    const uint vectors = (columns + 3) / 4, base = row * vectors;
    float mean = 0.0;
    if (CENTRES == 1u) {
        vec4 sum = vec4(0.0);
        for (uint i = lane; i < vectors; i += width) sum += LOAD4(x, base + i);
        mean = sumOf(sum) / float(columns);
    }
    vec4 squares = vec4(0.0), gradients = vec4(0.0), products = vec4(0.0);
    for (uint i = lane; i < vectors; i += width) {
        const vec4 deviation = (LOAD4(x, base + i) - mean) * maskPadding(i), g = LOAD4(dy, base + i) * LOAD4(weight, i);
        squares += deviation * deviation;
        gradients += g;
        products += g * deviation;
    }
    const float factor = inversesqrt(sumOf(squares) / float(columns) + epsilon);
    const float meanGradient = CENTRES == 1u ? sumOf(gradients) / float(columns) : 0.0;
    const float meanProduct = sumOf(products) * factor / float(columns); // of g and the normalised x
    for (uint i = lane; i < vectors; i += width) {
        const vec4 normalised = (LOAD4(x, base + i) - mean) * factor, g = LOAD4(dy, base + i) * LOAD4(weight, i);
        dx[base + i] = factor * (g - meanGradient - normalised * meanProduct) * maskPadding(i);
    }
    if (lane == 0) statistics[row] = vec4(mean, factor, 0.0, 0.0);
}
