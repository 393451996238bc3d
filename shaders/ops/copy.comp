#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "rows.glsl"

// A region of a tensor from strided rows of another, with zeros around, by vec4s: permute, slice, pad, concatenate and broadcast where
// all begins and ends at whole vec4s.
layout(constant_id = 1) const uint IS_WHOLE = 0; // every vec4 that is written exists whole
layout(push_constant) uniform Push {
    ROWS_PUSH
    uint from[4], to[4];
    uint before;   // vec4s of each row that are zero
    uint existing; // columns after these that are copied
    uint units;    // vec4s of each row that are written
};
INPUT4(1, x);
OUTPUT4(2, result);

void main() {
    FOR_UNITS(units) {
        if (IS_WHOLE == 1u) {
            result[ROW_OF(to) + UNIT] = LOAD4(x, ROW_OF(from) + UNIT);
        } else {
            const uint at = UNIT - before; // far beyond what exists where negative
            const vec4 value = LOAD4(x, ROW_OF(from) + min(at, (max(existing, 1u) - 1) / 4));
            result[ROW_OF(to) + UNIT] = EXISTING(value, at, existing);
        }
    }
}
