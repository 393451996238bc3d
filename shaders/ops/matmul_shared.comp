#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "activation.glsl"
#include "tensor.glsl"
#include "matmul.glsl"
#include "matmul_tiles.glsl"

// Matmul for real GPUs, but for large results. Operands in matmul.glsl; local size and grid in matmul_tiles.glsl.
#define FINISH(row, vector, value)                                                                                                \
    if (row < live && vector < (columns + 3) / 4) {                                                                               \
        const vec4 bias_ = LOAD_BIAS(vector);                                                                                     \
        STORE_RESULT(row, vector, value, bias_);                                                                                  \
    }

void main() {
    const uint live = liveVectors(rows, rowsPerUnit, liveSlot);
    const uint row0 = gl_WorkGroupID.y * TILE, column0 = gl_WorkGroupID.x * TILE;
    if (row0 >= live) return; // the whole workgroup
    CLEAR_TILE;
    ADD_TILES(OF_ROWS, x, 0, OF_ROWS, w, 0, row0, live, column0, columns, inner, SEE_NOTHING);
    FOR_TILE(FINISH);
}
