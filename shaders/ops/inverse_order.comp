#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// result[n, order[n, i]] = i. Local size 64. Grid ceil(stride / 64) x rows.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint columns; };
INPUT_I(1, order);
OUTPUT_I(2, result);

void main() {
    const uint i = gl_GlobalInvocationID.x, stride = (columns + 3) / 4 * 4, base = gl_WorkGroupID.y * stride;
    if (i >= stride) return;
    const uint target = i < columns ? uint(order[base + i]) : i; // the padding holds zeros
    if (target < stride) result[base + target] = i < columns ? int(i) : 0;
}
