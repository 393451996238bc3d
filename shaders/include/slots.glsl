// Element-wise updates of up to SLOTS tensors in one dispatch: the workgroups of one tensor follow those of the tensor before.
// Include after tensor.glsl; put SLOT_PUSH first in the push constants.
//
// Bindings   slot by slot; slots without a tensor are bound to any and have no workgroups
// Push       SLOT_PUSH: for every slot the number of the workgroup after its last, and its vec4s
// Local size 64. Grid as many workgroups as the last slot ends with, each for STRETCH vec4s.
layout(local_size_x = 64) in;
// Four tensors each and two more, of the storage buffers that a device binds: 30 of 32, or with FEW 14 of 16.
#if FEW
const uint SLOTS = 3;
#define FOR_SLOTS(UPDATE) UPDATE(0) UPDATE(1) UPDATE(2)
#else
const uint SLOTS = 7;
#define FOR_SLOTS(UPDATE) UPDATE(0) UPDATE(1) UPDATE(2) UPDATE(3) UPDATE(4) UPDATE(5) UPDATE(6)
#endif
const uint STRETCH = 1024;
#define SLOT_PUSH uint ends[SLOTS], vectors[SLOTS];

// Which slot and which of its vec4s are this invocation's: `begin`, `begin` + 64 and so on below `end`.
#define LOCATE_SLOT                                                                                                               \
    uint slot = 0;                                                                                                                \
    for (uint i = 0; i + 1 < SLOTS; ++i) slot += gl_WorkGroupID.x >= ends[i] ? 1u : 0u;                                           \
    const uint first = (gl_WorkGroupID.x - (slot == 0u ? 0u : ends[slot - 1])) * STRETCH;                                         \
    const uint begin = first + gl_LocalInvocationID.x, end = min(first + STRETCH, vectors[slot]);

// A loop in every slot: software Vulkan executes both sides of a branch, but leaves a loop once no lane is in it.
#define FOR_VECTORS(n) for (uint index = slot == n ? begin : end; index < end; index += 64)
