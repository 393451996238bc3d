// Sums of outer products, for gradients of matmul: a tile of 32 rows by 32 columns per set of eight lanes, four columns per lane.
// Include after tensor.glsl and lanes8.glsl (and activation.glsl for 0); define X_IS_TRANSPOSED 0 or 1.
//
//   0: y[m,n] = scale * f'(argument[m,n]) * sum over k of x[m,k] w[k,n] + residual[m,n]; PAIRS of x and w add up
//   1: y[m,n] = scale * sum over k of x[k,m] w[k,n]    sums[m] = sum over k of x[k,m]
//
// Bindings   0: 1 x  2 w [K,N]  3 x1  4 w1 [K1,N]  5 x2  6 w2 [K2,N]  7 argument [M,N]  8 residual [M,N]  9 y [M,N]; an absent operand is
//               bound to any tensor
//            1: 1 x  2 w [K,N]  3 y [M,N]  4 sums [M]
// Push       rows M, columns N, inner K, scale; 0: hasResidual, K1, K2
// Constants  of 0: 2 the activation f, 4 PAIRS, 1 to 3
// Local size 8 x L. Grid ceil(N / 32) x ceil(M / (32 L)).
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push {
    uint rows, columns, inner;
    float scale;
#if !X_IS_TRANSPOSED
    uint hasResidual, inner1, inner2;
#endif
};
INPUT4(1, x);
INPUT4(2, w);
#if X_IS_TRANSPOSED
OUTPUT4(3, result);
OUTPUT4(4, sums);
#else
layout(constant_id = 2) const uint ACTIVATION = 0;
layout(constant_id = 4) const uint PAIRS = 1;
INPUT4(3, x1);
INPUT4(4, w1);
INPUT4(5, x2);
INPUT4(6, w2);
INPUT4(7, argument);
INPUT4(8, residual);
OUTPUT4(9, result);

// sum += the product of one pair. Lanes are rows of x when loading it; its padding is zero, so that repeated rows of w count nothing.
#define ADD_PRODUCT(xName, wName, inner_)                                                                                         \
    {                                                                                                                             \
        const uint depth_ = (inner_ + 3) / 4;                                                                                     \
        uint xBase_[ROWS / WIDTH];                                                                                                \
        [[unroll]] for (uint r_ = 0; r_ < ROWS / WIDTH; ++r_) xBase_[r_] = min(row + r_ * WIDTH + lane, rows - 1) * depth_;       \
        for (uint k_ = 0; k_ < depth_; ++k_) {                                                                                    \
            vec4 a_[ROWS / WIDTH], b_[4];                                                                                         \
            [[unroll]] for (uint r_ = 0; r_ < ROWS / WIDTH; ++r_) a_[r_] = LOAD4(xName, xBase_[r_] + k_);                         \
            [[unroll]] for (uint u_ = 0; u_ < 4; ++u_) b_[u_] = LOAD4(wName, min(k_ * 4 + u_, inner_ - 1) * vectors + wColumn);   \
            [[unroll]] for (uint i_ = 0; i_ < ROWS; ++i_) {                                                                       \
                const vec4 s_ = SHUFFLE4(a_[i_ / WIDTH], i_ % WIDTH);                                                             \
                sum[i_] += s_.x * b_[0] + s_.y * b_[1] + s_.z * b_[2] + s_.w * b_[3];                                             \
            }                                                                                                                     \
        }                                                                                                                         \
    }
#endif

const uint ROWS = 32;

void main() {
    const uint lane = laneOf();
    const uint row = (gl_WorkGroupID.y * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * ROWS;
    if (row >= rows) return;
    const uint vectors = (columns + 3) / 4;
    const uint vector = gl_WorkGroupID.x * WIDTH + lane;
    const uint wColumn = min(vector, vectors - 1);
    vec4 sum[ROWS];
    [[unroll]] for (uint i = 0; i < ROWS; ++i) sum[i] = vec4(0.0);

#if X_IS_TRANSPOSED
    // Four rows of x and w per round; a lane holds four of the tile's rows of y.
    const uint xVectors = (rows + 3) / 4, xColumn = min(row / 4 + lane, xVectors - 1);
    vec4 columnSum = vec4(0.0);
    for (uint k = 0; k < inner; k += 4) {
        vec4 a[4], b[4];
        [[unroll]] for (uint u = 0; u < 4; ++u) {
            const uint at = min(k + u, inner - 1);
            a[u] = k + u < inner ? LOAD4(x, at * xVectors + xColumn) : vec4(0.0);
            b[u] = LOAD4(w, at * vectors + wColumn);
        }
        columnSum += a[0] + a[1] + a[2] + a[3];
        [[unroll]] for (uint i = 0; i < ROWS; ++i)
            sum[i] += SHUFFLE(a[0][i % 4], i / 4) * b[0] + SHUFFLE(a[1][i % 4], i / 4) * b[1] + SHUFFLE(a[2][i % 4], i / 4) * b[2] +
                      SHUFFLE(a[3][i % 4], i / 4) * b[3];
    }
    if (gl_WorkGroupID.x == 0 && row / 4 + lane < xVectors) sums[row / 4 + lane] = columnSum; // the padding of x is zero
#else
    ADD_PRODUCT(x, w, inner);
    if (PAIRS > 1) ADD_PRODUCT(x1, w1, inner1);
    if (PAIRS > 2) ADD_PRODUCT(x2, w2, inner2);
#endif

    if (vector >= vectors) return;
    [[unroll]] for (uint i = 0; i < ROWS; ++i) {
        if (row + i >= rows) return;
        const uint at = (row + i) * vectors + vector;
#if X_IS_TRANSPOSED
        result[at] = sum[i] * scale;
#else
        vec4 y = sum[i] * scale;
        if (ACTIVATION != 0u) y *= activationDerivative4(ACTIVATION, LOAD4(argument, at));
        result[at] = y + (hasResidual == 1u ? LOAD4(residual, at) : vec4(0.0));
#endif
    }
}
