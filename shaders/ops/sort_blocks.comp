#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "sort.glsl"

// The order within blocks of each row: an element's place is the number of those of its block that come before it.
// Local size 64. Grid ceil(stride / 64) x rows.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint columns, block; };
INPUT4(1, x);
OUTPUT_I(2, order);

void main() {
    const uint column = gl_GlobalInvocationID.x, vectors = (columns + 3) / 4, base = gl_WorkGroupID.y * vectors;
    if (column >= vectors * 4) return;
    const uint first = column / block * block, end = min(first + block, columns);
    const float key = keyOf(LOAD4(x, base + column / 4)[column % 4]);
    uint before = 0;
    for (uint vector = first / 4; vector * 4 < end; ++vector) {
        const vec4 others = LOAD4(x, base + vector);
        for (uint i = 0; i < 4; ++i) {
            const uint at = vector * 4 + i;
            const float other = keyOf(others[i]);
            before += at < end && (other < key || (other == key && at < column)) ? 1u : 0u;
        }
    }
    // The padding holds zeros.
    order[base * 4 + (column < columns ? first + before : column)] = column < columns ? int(column) : 0;
}
