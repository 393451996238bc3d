#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// What the bias by distance gets, second half: one distance of one head per invocation, from the four tiles that hold it in each row.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint queries, count, stride, distances; // of tiles, as in block_gradient_bias
};
INPUT_F(1, sums);
OUTPUT_F(2, gradient); // [H, count]

void main() {
    const uint x = gl_GlobalInvocationID.x, head = gl_WorkGroupID.y;
    if (x >= stride) return;
    float sum = 0.0;
    if (x < count) {
        const int zero = int((queries + 7) / 8) - 1, distance = int(x) - int(queries - 1); // of key from query
        for (int row = 0; row < 8; ++row) {
            const int last = (distance + row + 8 * zero) >> 3; // the nearest tile whose first key is not beyond
            for (int tile = max(last - 3, 0); tile <= min(last, int(distances) - 1); ++tile) {
                const int column = distance + row - 8 * (tile - zero);
                sum += sums[((head * distances + uint(tile)) * 8 + uint(row)) * 32 + uint(column)];
            }
        }
    }
    gradient[head * stride + x] = sum;
}
