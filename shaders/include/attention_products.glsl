// Products that attention kernels form in sets of eight lanes: eight rows of one side against 32 of the other, four to a lane. Include
// after tensor.glsl and lanes8.glsl; the shader has headVectors, the vectors of a row, and BLOCKS, of 32 features, 1 or 2.

// Dot products of row i of a (lanes are rows) with the four rows of b that a lane has.
#define ADD_DOTS(products, aName, aBase, bName, bBase, vectors)                                                                   \
    for (uint d_ = 0; d_ < (vectors); ++d_) {                                                                                     \
        const vec4 a_ = LOAD4(aName, (aBase) + d_);                                                                               \
        const vec4 b0_ = LOAD4(bName, (bBase).x + d_), b1_ = LOAD4(bName, (bBase).y + d_), b2_ = LOAD4(bName, (bBase).z + d_),     \
                   b3_ = LOAD4(bName, (bBase).w + d_);                                                                            \
        [[unroll]] for (uint i_ = 0; i_ < WIDTH; ++i_) {                                                                          \
            const vec4 s_ = SHUFFLE4(a_, i_);                                                                                     \
            products[i_] += vec4(dot(s_, b0_), dot(s_, b1_), dot(s_, b2_), dot(s_, b3_));                                         \
        }                                                                                                                         \
    }

// For products with features lanes are features: `span` lanes (a power of two) hold the vectors of one row, and the 8 / span sets
// of lanes take different rows.
struct Features {
    uint first, count, span, keySets, keySet, feature;
};
Features featuresOf(uint lane) {
    Features f;
    f.first = gl_WorkGroupID.z * WIDTH * BLOCKS;
    f.count = min(headVectors - f.first, WIDTH * BLOCKS);
    f.span = f.count > 4 ? 8 : f.count > 2 ? 4 : f.count;
    f.feature = lane & (f.span - 1);
    f.keySet = f.span == 8 ? 0 : f.span == 4 ? lane >> 2 : f.span == 2 ? lane >> 1 : lane;
    f.keySets = f.span == 8 ? 1 : f.span == 4 ? 2 : f.span == 2 ? 4 : 8;
    return f;
}

// sums[i] += sum over the 32 rows of b of weights[i] b[row]: sums0 of the first 32 features, sums1 of the next.
// ROW_BASE(n) gives where rows 4 n to 4 n + 3 of the 32 begin, in vectors. The loop adds to sums of its own: software Vulkan ends
// each round with masked copies of what the loop changes, and makes three of what loops around it change as well.
#define ADD_MIXED(sums0, sums1, weights, bName, f, ROW_BASE)                                                                      \
    {                                                                                                                             \
        for (uint g_ = 0; g_ < f.span; ++g_) {                                                                                    \
            const uint source_ = g_ * f.keySets + f.keySet;                                                                       \
            const uint at0_ = f.first + min(f.feature, f.count - 1), at1_ = f.first + min(f.feature + WIDTH, f.count - 1);        \
            const uvec4 base_ = ROW_BASE(source_);                                                                                \
            const mat4 b0_ = mat4(LOAD4(bName, base_.x + at0_), LOAD4(bName, base_.y + at0_), LOAD4(bName, base_.z + at0_),       \
                                  LOAD4(bName, base_.w + at0_));                                                                  \
            mat4 b1_;                                                                                                             \
            if (BLOCKS > 1)                                                                                                       \
                b1_ = mat4(LOAD4(bName, base_.x + at1_), LOAD4(bName, base_.y + at1_), LOAD4(bName, base_.z + at1_),              \
                           LOAD4(bName, base_.w + at1_));                                                                         \
            [[unroll]] for (uint i_ = 0; i_ < WIDTH; ++i_) {                                                                      \
                const vec4 p_ = SHUFFLE4(weights[i_], source_);                                                                   \
                sums0[i_] += b0_ * p_;                                                                                            \
                if (BLOCKS > 1) sums1[i_] += b1_ * p_;                                                                            \
            }                                                                                                                     \
        }                                                                                                                         \
    }

// Adds up the sets of lanes and stores row i at `base(i)`.
#define STORE_MIXED(target, sums0, sums1, f, i, base)                                                                             \
    {                                                                                                                             \
        if (f.span <= 4) sums0[i] += subgroupShuffleXor(sums0[i], 4);                                                             \
        if (f.span <= 2) sums0[i] += subgroupShuffleXor(sums0[i], 2);                                                             \
        if (f.span <= 1) sums0[i] += subgroupShuffleXor(sums0[i], 1);                                                             \
        const uint at_ = (base) + f.first + f.feature;                                                                            \
        if (f.keySet == 0 && f.feature < f.count) target[at_] = sums0[i];                                                         \
        if (BLOCKS > 1 && f.feature + WIDTH < f.count) target[at_ + WIDTH] = sums1[i];                                            \
    }
