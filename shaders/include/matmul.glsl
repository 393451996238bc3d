// What every matmul kernel shares: y[m,n] = activation(scale * sum over k of x[m,k] w[n,k] + bias[n]) + residual[m,n].
// Include after tensor.glsl and activation.glsl.
//
// Bindings   1 x [M,K]  2 w [N,K]  3 bias [N]  4 residual [M,N]  5 result [M,N]  6 the activation's argument [M,N]; an absent operand is
//            bound to any tensor
// Push       rows M, columns N, inner K, liveSlot, scale, rowsPerUnit (rows per index of axis 0: with a live slot,
//            liveness * rowsPerUnit rows are computed)
// Constants  0 and 1: local size, 2: activation, 3: 1 keeps the activation's argument, 4 and 5: 1 adds the bias, the residual. Constants,
//            because software Vulkan executes both sides of a branch.

layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const uint ACTIVATION = 0;
layout(constant_id = 3) const uint KEEPS_ARGUMENT = 0;
layout(constant_id = 4) const uint HAS_BIAS = 0;
layout(constant_id = 5) const uint HAS_RESIDUAL = 0;
layout(push_constant) uniform Push {
    uint rows, columns, inner, liveSlot;
    float scale;
    uint rowsPerUnit;
#ifdef COMPACT
    uint rowWords; // of a stored row of w
#endif
};
INPUT4(1, x);
#ifdef COMPACT
WEIGHTS(2, 6);
#else
INPUT4(2, w);
#endif
INPUT4(3, bias);
INPUT4(4, residual);
OUTPUT4(5, result);
OUTPUT4(6, argument);

// The bias of the four columns of one vector, or zero.
#define LOAD_BIAS(vector) (HAS_BIAS == 1u ? LOAD4(bias, min(vector, (columns - 1) / 4)) : vec4(0.0))

// Bias, activation, residual and zero padding, for the four columns of one vector of one row.
#define STORE_RESULT(row, vector, product, biasOfVector)                                                                          \
    {                                                                                                                             \
        const uint at_ = (row) * ((columns + 3) / 4) + (vector);                                                                  \
        const vec4 exists_ = vec4(lessThan(uvec4((vector) * 4) + uvec4(0, 1, 2, 3), uvec4(columns)));                             \
        vec4 y_ = (product) * scale + (biasOfVector);                                                                             \
        if (KEEPS_ARGUMENT == 1u) argument[at_] = y_ * exists_;                                                                   \
        y_ = activate4(ACTIVATION, y_);                                                                                           \
        if (HAS_RESIDUAL == 1u) y_ += LOAD4(residual, at_);                                                                       \
        result[at_] = y_ * exists_;                                                                                               \
    }
