#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// How many clusters have picked each token. Local size 64. Grid ceil(padded tokens / 64) x B H.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint tokens, members, clusters; };
INPUT_I(1, ids); // [B,H,c,w], ascending
OUTPUT_F(2, counts); // [B,H,T]

void main() {
    const uint token = gl_GlobalInvocationID.x, stride = (tokens + 3) / 4 * 4;
    if (token >= stride) return;
    float count = 0.0;
    for (uint cluster = 0; cluster < clusters; ++cluster) {
        const uint first = (gl_WorkGroupID.y * clusters + cluster) * ((members + 3) / 4 * 4);
        uint low = 0, high = members; // the first member that is not before the token
        while (low < high) {
            const uint middle = (low + high) / 2;
            const bool isBefore = uint(ids[first + middle]) < token;
            low = isBefore ? middle + 1 : low;
            high = isBefore ? high : middle;
        }
        count += low < members && uint(ids[first + min(low, members - 1)]) == token ? 1.0 : 0.0;
    }
    counts[gl_WorkGroupID.y * stride + token] = token < tokens ? count : 0.0;
}
