// Kernels with one invocation for each of many numbers: their workgroups lie along x and y, because a device may allow only 65,535 along
// each. attn::FlatGrid makes the grid. Include after tensor.glsl.
layout(local_size_x = 64) in;
#define FLAT_INDEX ((gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * 64 + gl_LocalInvocationID.x)
