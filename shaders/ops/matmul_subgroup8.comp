#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "activation.glsl"
#include "tensor.glsl"
#include "matmul.glsl"

// 16 rows by 32 columns per subgroup: grid ceil(N / 32) x ceil(M / (16 L)).
#define BLOCKS 2
#include "matmul_subgroup8.glsl"
