#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "rows.glsl"

// Rows of a tensor by index: result[n,r,:] = x[n,ids[n,r],:], zeros for an id that is no row.
layout(push_constant) uniform Push {
    ROWS_PUSH // r and n along grid x and y, whichever way
    uint toResult[4], toIds[4], toChoices[4];
    uint vectors, choices;
};
INPUT4(1, x);
INPUT_I(2, ids);
OUTPUT4(3, result);

void main() {
    FOR_UNITS(vectors) {
        const uint id = uint(ids[ROW_OF(toIds)]); // negative ids are huge
        const vec4 value = LOAD4(x, ROW_OF(toChoices) + min(id, choices - 1) * vectors + UNIT);
        result[ROW_OF(toResult) + UNIT] = id < choices ? value : vec4(0.0);
    }
}
