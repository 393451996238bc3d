#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "rows.glsl"

// A function of two or three tensors that are repeated along axes of one index.
layout(constant_id = 1) const uint FUNCTION = 0; // the order of attn::Binary, then c != 0 ? a : b
layout(constant_id = 2) const uint REPEATED = 0; // bits: a, b, c have one column, which counts for all
layout(constant_id = 3) const uint HAS_PADDING = 0;
layout(push_constant) uniform Push {
    ROWS_PUSH
    uint toResult[4], toA[4], toB[4], toC[4];
    uint columns;
};
INPUT4(1, a);
INPUT4(2, b);
INPUT4(3, c); // or any tensor
OUTPUT4(4, result);

#define LOAD_REPEATED(name, bit, rows_) ((REPEATED & bit) != 0u ? LOAD4(name, ROW_OF(rows_)).xxxx : LOAD4(name, ROW_OF(rows_) + UNIT))

vec4 valueOf(vec4 x, vec4 y, vec4 condition) {
    switch (FUNCTION) {
    case 0u: return x + y;
    case 1u: return x - y;
    case 2u: return x * y;
    case 3u: return x / y;
    case 4u: return max(x, y);
    case 5u: return min(x, y);
    case 6u: return vec4(lessThan(x, y));
    case 7u: return vec4(equal(x, y));
    default: return mix(y, x, notEqual(condition, vec4(0.0)));
    }
}

void main() {
    FOR_UNITS((columns + 3) / 4) {
        const vec4 condition = FUNCTION == 8u ? LOAD_REPEATED(c, 4u, toC) : vec4(0.0);
        const vec4 y = valueOf(LOAD_REPEATED(a, 1u, toA), LOAD_REPEATED(b, 2u, toB), condition);
        result[ROW_OF(toResult) + UNIT] = HAS_PADDING == 1u ? EXISTING(y, UNIT, columns) : y;
    }
}
