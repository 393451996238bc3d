#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "attention.glsl"

// A window of the attention pattern at display resolution: each pixel is the largest probability of the cells it covers.
// One pixel per invocation; z is the tile (head).
layout(local_size_x = 8, local_size_y = 4) in;
layout(push_constant) uniform Push {
    ATTENTION_PUSH
    uint size, stride;
};
INPUT4(1, q);
INPUT4(2, k);
INPUT_I(3, queryPosition);
INPUT_I(4, keyPosition);
INPUT4(5, statistics); // [H,T,4]: maximum, 1/sum
INPUT_I(6, view);      // queryBegin, queryEnd, keyBegin, keyEnd, rows, columns, firstHead, aggregate
OUTPUT_F(7, pixels);

float probability(uint head, uint t, uint s) {
    float score;
    ATTENTION_SCORE(score, head, t, s);
    const vec4 row = LOAD4(statistics, head * queries + t);
    return score <= MASKED ? 0.0 : exp(score - row.x) * row.y;
}

void main() {
    const uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y, tile = gl_WorkGroupID.z;
    if (x >= stride || y >= size) return;
    const uint rows = uint(view[4]), columns = uint(view[5]), aggregate = uint(view[7]);
    float pixel = 0.0;
    if (x < columns && y < rows && x < size) {
        const uint queryBegin = uint(view[0]), queryCount = uint(view[1]) - queryBegin;
        const uint keyBegin = uint(view[2]), keyCount = uint(view[3]) - keyBegin;
        const uint tEnd = min(queryBegin + (y + 1) * queryCount / rows, liveCount(queries, queryLiveSlot));
        const uint sEnd = min(keyBegin + (x + 1) * keyCount / columns, liveCount(keys, keyLiveSlot));
        for (uint t = queryBegin + y * queryCount / rows; t < tEnd; ++t)
            for (uint s = keyBegin + x * keyCount / columns; s < sEnd; ++s) {
                if (aggregate == 0u) {
                    pixel = max(pixel, probability(uint(view[6]) + tile, t, s));
                    continue;
                }
                float cell = 0.0;
                for (uint head = 0; head < heads; ++head) {
                    const float p = probability(head, t, s);
                    cell = aggregate == 1u ? cell + p / float(heads) : max(cell, p);
                }
                pixel = max(pixel, cell);
            }
    }
    pixels[(tile * size + y) * stride + x] = pixel;
}
