#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tensor.glsl"
#define X_IS_TRANSPOSED 1
#define W_IS_TRANSPOSED 0
#define BATCHED 1
#include "matmul_operand_tiles.glsl"
