#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// What the clusters add to: zeros, but, where `keeps`, the row of x of a token that no cluster has picked.
// Local size 64. Grid ceil(tokens headVectors / 64) x B H.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint tokens, headVectors, keeps; };
INPUT4(1, x);
INPUT_F(2, counts);
OUTPUT4(3, result);

void main() {
    const uint vector = gl_GlobalInvocationID.x;
    if (vector >= tokens * headVectors) return;
    const uint at = gl_WorkGroupID.y * tokens * headVectors + vector;
    const float count = counts[gl_WorkGroupID.y * ((tokens + 3) / 4 * 4) + vector / headVectors];
    result[at] = keeps == 1u && count == 0.0 ? LOAD4(x, at) : vec4(0.0);
}
