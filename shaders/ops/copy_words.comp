#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "rows.glsl"

// The same as copy.comp from elements of any type, however they lie.
layout(push_constant) uniform Push {
    ROWS_PUSH
    uint from[4], to[4];
    uint before;   // columns of each row that are zero
    uint existing; // after these that are copied
    uint units;    // of each row that are written
    uint step;     // from one column to the next in the source
};
INPUT_U(1, x);
OUTPUT_U(2, result);

void main() {
    FOR_UNITS(units) {
        const uint at = UNIT - before; // far beyond what exists where negative
        const uint word = x[ROW_OF(from) + min(at, max(existing, 1u) - 1) * step];
        result[ROW_OF(to) + UNIT] = at < existing ? word : 0u;
    }
}
