// Kernels that walk rows of several tensors, each by steps of its own: LANES invocations per row, its units (vec4s or floats) along
// them. Include after tensor.glsl; attn::rowLaunches makes the launches.
//
// Push       ROWS_PUSH first: the rows along grid x; then for every tensor, uint t[4]: its first unit and its steps along x, y and z
// Constants  0: LANES, 1 to 8
// Local size 64. Grid as many workgroups as suit x rows, going on by whole grids; y; z.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint LANES = 8;
#define ROWS_PUSH uint rows;

// One loop through the units of all rows rather than one in another: entering a loop costs software Vulkan as much as a unit.
#define FOR_UNITS(units)                                                                                                          \
    for (uint row = (gl_WorkGroupID.x * 64 + gl_LocalInvocationID.x) / LANES, set_ = 0; row < rows;                               \
         row += set_ + LANES < (units) ? 0 : gl_NumWorkGroups.x * (64 / LANES), set_ = set_ + LANES < (units) ? set_ + LANES : 0) \
        if (set_ + gl_LocalInvocationID.x % LANES < (units))
#define UNIT (set_ + gl_LocalInvocationID.x % LANES)
// The first unit of this row of a tensor.
#define ROW_OF(t) (t[0] + row * t[1] + gl_WorkGroupID.y * t[2] + gl_WorkGroupID.z * t[3])

// `value` where the columns of vector `vector` of a row exist, else 0.
#define EXISTING(value, vector, columns) mix(vec4(0.0), value, lessThan(uvec4((vector) * 4) + uvec4(0, 1, 2, 3), uvec4(columns)))
