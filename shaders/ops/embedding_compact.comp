#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"
#include "weight.glsl"

// embedding.comp with a compact table.
layout(push_constant) uniform Push {
    uint rows, rowVectors, vocabulary, liveSlot, rowWords;
};
INPUT_I(1, ids);
WEIGHTS(2, 0);
OUTPUT4(3, result);
DEFINE_WEIGHT4

void main() {
    const uint index = FLAT_INDEX;
    const uint row = index / rowVectors;
    if (row >= liveCount(rows, liveSlot)) return;
    const uint id = uint(clamp(ids[row], 0, int(vocabulary) - 1));
    result[index] = weight4(id, index % rowVectors, rowWords, rowVectors * 4);
}
