// What the products for gradients of matmul and, BATCHED, of many matrices at once share; matmul_outer.glsl computes them in small
// subgroups, matmul_tiles.glsl in shared memory. Include after tensor.glsl (and activation.glsl for the first); define X_IS_TRANSPOSED,
// W_IS_TRANSPOSED and BATCHED, each 0 or 1.
//   neither:          y[m,n] = scale * f'(argument[m,n]) * sum over k of x[m,k] w[k,n] + residual[m,n]; PAIRS of x and w add up
//   X_IS_TRANSPOSED:  y[m,n] = scale * sum over k of x[k,m] w[k,n]    sums[m] = sum over k of x[k,m]
//   BATCHED:          y[z,m,n] = scale * sum over k of x[z,m,k] or x[z,k,m] times w[z,k,n] or, W_IS_TRANSPOSED, w[z,n,k]
//
// Bindings   neither:         1 x  2 w [K,N]  3 x1  4 w1 [K1,N]  5 x2  6 w2 [K2,N]  7 argument [M,N]  8 residual [M,N]  9 y [M,N];
//                             an absent operand is bound to any tensor
//            X_IS_TRANSPOSED: 1 x  2 w [K,N]  3 y [M,N]  4 sums [M]
//            BATCHED:         1 x  2 w  3 y
// Push       rows M, columns N, inner K, scale; neither: K1, K2; BATCHED: batches, which z / batches and z % batches count, and
//            for each tensor its first vector and its steps along z % batches and z / batches
// Constants  0 and 1: local size; of the first: 2 the activation f, 4 PAIRS, 1 to 3, 5: 1 adds the residual (constants, because software Vulkan executes both
//            sides of a branch)
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push {
    uint rows, columns, inner;
    float scale;
#if BATCHED
    uint batches, xBatch[3], wBatch[3], yBatch[3];
#elif !X_IS_TRANSPOSED
    uint inner1, inner2;
#endif
};
INPUT4(1, x);
INPUT4(2, w);
#if BATCHED
OUTPUT4(3, result);
#define START(batch) (batch[0] + gl_WorkGroupID.z % batches * batch[1] + gl_WorkGroupID.z / batches * batch[2])
#elif X_IS_TRANSPOSED
OUTPUT4(3, result);
OUTPUT4(4, sums);
#define START(batch) 0
#else
layout(constant_id = 2) const uint ACTIVATION = 0;
layout(constant_id = 4) const uint PAIRS = 1;
layout(constant_id = 5) const uint HAS_RESIDUAL = 0;
INPUT4(3, x1);
INPUT4(4, w1);
INPUT4(5, x2);
INPUT4(6, w2);
INPUT4(7, argument);
INPUT4(8, residual);
OUTPUT4(9, result);
#define START(batch) 0
#endif

// The end of the first: four numbers of a row, whose first index is `at`.
#if !BATCHED && !X_IS_TRANSPOSED
#define STORE_PLAIN(at, product)                                                                                                  \
    {                                                                                                                             \
        vec4 y_ = (product) * scale;                                                                                              \
        if (ACTIVATION != 0u) y_ *= activationDerivative4(ACTIVATION, LOAD4(argument, at));                                       \
        if (HAS_RESIDUAL == 1u) y_ += LOAD4(residual, at);                                                                        \
        result[at] = y_;                                                                                                          \
    }
#endif
