// Kernels that walk rows of several tensors, each by steps of its own: a row per eight invocations, its units (vec4s or floats)
// along them. Include after tensor.glsl; attn::rowLaunches makes the launches.
//
// Push       ROWS_PUSH first: the rows along grid x; then for every tensor, uint t[4]: its first unit and its steps along x, y and z
// Local size 8 x 8. Grid as many workgroups as suit x rows, going on by whole grids; y; z.
layout(local_size_x = 8, local_size_y = 8) in;
#define ROWS_PUSH uint rows;
#define FOR_ROWS for (uint row = gl_WorkGroupID.x * 8 + gl_LocalInvocationID.y; row < rows; row += gl_NumWorkGroups.x * 8)
#define FOR_UNITS(count) for (uint unit = gl_LocalInvocationID.x; unit < (count); unit += 8)
// The first unit of this row of a tensor.
#define ROW_OF(t) (t[0] + row * t[1] + gl_WorkGroupID.y * t[2] + gl_WorkGroupID.z * t[3])

// `value` where the columns of vector `vector` of a row exist, else 0.
#define EXISTING(value, vector, columns) mix(vec4(0.0), value, lessThan(uvec4((vector) * 4) + uvec4(0, 1, 2, 3), uvec4(columns)))
