#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "activation.glsl"
#include "tensor.glsl"
#include "matmul.glsl"

// 32 rows by 32 columns per subgroup: grid ceil(N / 32) x ceil(M / (32 L)). About a tenth faster from some 100 rows on, but twice
// as long to compile at the first dispatch.
#define BLOCKS 4
#include "matmul_subgroup8.glsl"
