#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// The k largest of each row, one row per invocation: k passes, each finding the next below the last in (value, column) order.
layout(local_size_x = 8) in;
layout(push_constant) uniform Push {
    uint rows, columns, stride, k, resultStride, liveSlot;
};
INPUT_F(1, x);
OUTPUT_F(2, values);
OUTPUT_I(3, indices);

void main() {
    const uint row = gl_GlobalInvocationID.x;
    if (row >= liveCount(rows, liveSlot)) return;
    float last = 0.0;
    int lastColumn = -1;
    for (uint i = 0; i < resultStride; ++i) {
        float best = 0.0;
        int bestColumn = -1;
        if (i < k)
            for (int column = 0; column < int(columns); ++column) {
                const float value = x[row * stride + uint(column)];
                const bool isAfterLast = lastColumn < 0 || value < last || (value == last && column > lastColumn);
                if (isAfterLast && (bestColumn < 0 || value > best)) {
                    best = value;
                    bestColumn = column;
                }
            }
        values[row * resultStride + i] = best;
        indices[row * resultStride + i] = max(bestColumn, 0);
        last = best;
        lastColumn = bestColumn;
    }
}
