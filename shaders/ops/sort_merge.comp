#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "sort.glsl"

// Joins each two neighbouring sorted blocks of a row: an element's place is its place in its own block and the number of elements
// of the other that come before it. Of equals those of the left block come first.
// Local size 64. Grid ceil(stride / 64) x rows.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint columns, block; };
INPUT_F(1, x);
INPUT_I(2, sorted);
OUTPUT_I(3, order);

void main() {
    const uint place = gl_GlobalInvocationID.x, stride = (columns + 3) / 4 * 4, base = gl_WorkGroupID.y * stride;
    if (place >= stride) return;
    const int column = sorted[base + place]; // 0 in the padding
    const float key = keyOf(x[base + uint(column)]);
    const uint own = place / block, pair = own / 2 * 2 * block;
    const bool isLeft = own % 2 == 0;
    const uint first = min(isLeft ? pair + block : pair, columns), end = min(first + block, columns);
    uint low = first, high = end;
    while (low < high) {
        const uint middle = (low + high) / 2;
        const float other = keyOf(x[base + uint(sorted[base + middle])]);
        if (other < key || (other == key && !isLeft))
            low = middle + 1;
        else
            high = middle;
    }
    const uint target = pair + place % block + (low - first);
    order[base + (place < columns ? target : place)] = place < columns ? column : 0;
}
