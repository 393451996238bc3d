// Kernels that run along the middle axis of [outer, strip, vectors], one vec4 column of one outer index per invocation at a time.
// Include after tensor.glsl. Software Vulkan ends the loops of an invocation, silently, after 65,535 rounds in all: no launch runs along
// more than 32,768 indices.
//
// Push       STRIPS_PUSH first
// Local size 8 x 8. Grid as many workgroups as suit the vectors x outer, going on by whole grids.
layout(local_size_x = 8, local_size_y = 8) in;
#define STRIPS_PUSH uint outer, strip, vectors;
#define FOR_STRIPS                                                                                                                \
    for (uint o = gl_WorkGroupID.y * 8 + gl_LocalInvocationID.y; o < outer; o += gl_NumWorkGroups.y * 8)                          \
        for (uint v = gl_WorkGroupID.x * 8 + gl_LocalInvocationID.x; v < vectors; v += gl_NumWorkGroups.x * 8)
