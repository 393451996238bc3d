#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "activation.glsl"
#include "tensor.glsl"
#define X_IS_TRANSPOSED 0
#define W_IS_TRANSPOSED 0
#define BATCHED 0
#include "matmul_operand_tiles.glsl"
