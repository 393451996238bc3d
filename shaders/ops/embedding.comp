#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"

// out[t,:] = table[ids[t],:], one vec4 per invocation.
layout(push_constant) uniform Push {
    uint rows, rowVectors, vocabulary, liveSlot;
};
INPUT_I(1, ids);
INPUT4(2, table);
OUTPUT4(3, result);

void main() {
    const uint index = FLAT_INDEX;
    const uint row = index / rowVectors;
    if (row >= liveCount(rows, liveSlot)) return;
    const uint id = uint(clamp(ids[row], 0, int(vocabulary) - 1));
    result[index] = LOAD4(table, id * rowVectors + index % rowVectors);
}
