#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"

// Gradient of layer norm and RMS norm with respect to x, one subgroup per row.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const uint CENTRES = 1; // 1 layer norm, 0 RMS norm
layout(push_constant) uniform Push { uint rows, columns, hasResidual; };
INPUT4(1, x);
INPUT4(2, weight);
INPUT4(3, statistics); // of the norm
INPUT4(4, dy);
INPUT4(5, residual); // or any tensor
OUTPUT4(6, dx);

vec4 maskPadding(uint vector) { return vec4(lessThan(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(columns))); }
float sumOf(vec4 v) { return subgroupAdd(v.x + v.y + v.z + v.w); }

void main() {
    const uint row = gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    if (row >= rows) return;
    const uint lane = gl_SubgroupInvocationID, width = gl_SubgroupSize;
    const uint vectors = (columns + 3) / 4, base = row * vectors;
    const vec4 own = LOAD4(statistics, row);
    const float mean = own.x, factor = own.y;
    vec4 gradients = vec4(0.0), products = vec4(0.0);
    for (uint i = lane; i < vectors; i += width) { // the padding of dy is zero
        const vec4 g = LOAD4(dy, base + i) * LOAD4(weight, i);
        gradients += g;
        products += g * (LOAD4(x, base + i) - mean);
    }
    const float meanGradient = CENTRES == 1u ? sumOf(gradients) / float(columns) : 0.0;
    const float meanProduct = sumOf(products) * factor / float(columns); // of g and the normalised x
    for (uint i = lane; i < vectors; i += width) {
        const vec4 normalised = (LOAD4(x, base + i) - mean) * factor, g = LOAD4(dy, base + i) * LOAD4(weight, i);
        const vec4 d = factor * (g - meanGradient - normalised * meanProduct) * maskPadding(i);
        dx[base + i] = d + (hasResidual == 1u ? LOAD4(residual, base + i) : vec4(0.0));
    }
}
