// Matmul for software Vulkan, where a subgroup is one 8-wide vector register: a tile of 8 BLOCKS rows by 32 columns per subgroup,
// four columns per lane, without shared memory. Include after matmul.glsl; define BLOCKS.
//
// Local size 8 x L (constants 0 and 1; L = 4 is good). Grid ceil(N / 32) x ceil(M / (8 BLOCKS L)).
const uint WIDTH = 8;

void main() {
    const uint lane = gl_SubgroupInvocationID;
    const uint live = liveVectors(rows, rowsPerUnit, liveSlot);
    const uint row = (gl_WorkGroupID.y * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * WIDTH * BLOCKS;
    if (row >= live) return;
    const uint vector = gl_WorkGroupID.x * WIDTH + lane;
    const uint depth = (inner + 3) / 4;
    uint xBase[BLOCKS];
    [[unroll]] for (uint r = 0; r < BLOCKS; ++r) xBase[r] = min(row + r * WIDTH + lane, live - 1) * depth;
    const uvec4 wBase = min(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(columns - 1)) * depth;

    // Lanes are rows of x when loading it, and columns of the result; sum[i] is row `row + i`. Four products are added before
    // they join the sum: the sums do not fit the registers, so each touch of one is a load and a store.
    vec4 sum[WIDTH * BLOCKS];
    [[unroll]] for (uint i = 0; i < WIDTH * BLOCKS; ++i) sum[i] = vec4(0.0);
    for (uint k = 0; k < depth; ++k) {
        vec4 a[BLOCKS];
        [[unroll]] for (uint r = 0; r < BLOCKS; ++r) a[r] = LOAD4(x, xBase[r] + k);
        const vec4 b0 = LOAD4(w, wBase.x + k), b1 = LOAD4(w, wBase.y + k), b2 = LOAD4(w, wBase.z + k), b3 = LOAD4(w, wBase.w + k);
        [[unroll]] for (uint i = 0; i < WIDTH * BLOCKS; ++i) {
            const vec4 source = a[i / WIDTH];
            const vec4 s = vec4(subgroupShuffle(source.x, i % WIDTH), subgroupShuffle(source.y, i % WIDTH),
                                subgroupShuffle(source.z, i % WIDTH), subgroupShuffle(source.w, i % WIDTH));
            sum[i] += vec4(dot(s, b0), dot(s, b1), dot(s, b2), dot(s, b3));
        }
    }

    const vec4 biasOfVector = LOAD_BIAS(vector);
    if (vector >= (columns + 3) / 4) return;
    [[unroll]] for (uint i = 0; i < WIDTH * BLOCKS; ++i) {
        if (row + i >= live) return;
        STORE_RESULT(row + i, vector, sum[i], biasOfVector);
    }
}
