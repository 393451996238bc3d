// Products of matrices in tiles of 32 rows by 32 columns per set of eight lanes, four columns per lane: for gradients of matmul and,
// BATCHED, for many matrices at once. Include after tensor.glsl and lanes8.glsl (and activation.glsl for the first); define
// X_IS_TRANSPOSED, W_IS_TRANSPOSED and BATCHED, each 0 or 1.
//
// Operands in matmul_operands.glsl. Local size 8 x L. Grid ceil(N / 32) x ceil(M / (32 L)) x all batches.
#include "matmul_operands.glsl"

const uint ROWS = 32;

#if W_IS_TRANSPOSED
#define W_VECTOR(wName, k_, u_, depth_, inner_) LOAD4(wName, wStart + min(vector * 4 + u_, columns - 1) * depth_ + k_)
#define ADD_OUTER(i_, s_, b_) sum[i_] += vec4(dot(s_, b_[0]), dot(s_, b_[1]), dot(s_, b_[2]), dot(s_, b_[3]))
#else
#define W_VECTOR(wName, k_, u_, depth_, inner_) LOAD4(wName, wStart + min(k_ * 4 + u_, inner_ - 1) * vectors + min(vector, vectors - 1))
#define ADD_OUTER(i_, s_, b_) sum[i_] += s_.x * b_[0] + s_.y * b_[1] + s_.z * b_[2] + s_.w * b_[3]
#endif
// sum += the product of one pair. Lanes are rows of x when loading it; its padding is zero, so that repeated rows of w count nothing.
#define ADD_PRODUCT(xName, wName, inner_)                                                                                         \
    {                                                                                                                             \
        const uint depth_ = (inner_ + 3) / 4;                                                                                     \
        uint xBase_[ROWS / WIDTH];                                                                                                \
        [[unroll]] for (uint r_ = 0; r_ < ROWS / WIDTH; ++r_)                                                                     \
            xBase_[r_] = xStart + min(row + r_ * WIDTH + lane, rows - 1) * depth_;                                                \
        for (uint k_ = 0; k_ < depth_; ++k_) {                                                                                    \
            vec4 a_[ROWS / WIDTH], b_[4];                                                                                         \
            [[unroll]] for (uint r_ = 0; r_ < ROWS / WIDTH; ++r_) a_[r_] = LOAD4(xName, xBase_[r_] + k_);                         \
            [[unroll]] for (uint u_ = 0; u_ < 4; ++u_) b_[u_] = W_VECTOR(wName, k_, u_, depth_, inner_);                          \
            [[unroll]] for (uint i_ = 0; i_ < ROWS; ++i_) {                                                                       \
                const vec4 s_ = SHUFFLE4(a_[i_ / WIDTH], i_ % WIDTH);                                                             \
                ADD_OUTER(i_, s_, b_);                                                                                            \
            }                                                                                                                     \
        }                                                                                                                         \
    }

void main() {
    const uint lane = laneOf();
    const uint row = (gl_WorkGroupID.y * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * ROWS;
    if (row >= rows) return;
    const uint vectors = (columns + 3) / 4;
    const uint vector = gl_WorkGroupID.x * WIDTH + lane;
    const uint xStart = START(xBatch), wStart = START(wBatch), yStart = START(yBatch);
    vec4 sum[ROWS];
    [[unroll]] for (uint i = 0; i < ROWS; ++i) sum[i] = vec4(0.0);

#if X_IS_TRANSPOSED
    // Four rows of x and w per round; a lane holds four of the tile's rows of y.
    const uint xVectors = (rows + 3) / 4, xColumn = xStart + min(row / 4 + lane, xVectors - 1);
    const uint wColumn = wStart + min(vector, vectors - 1);
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
#if !BATCHED
    if (gl_WorkGroupID.x == 0 && row / 4 + lane < xVectors) sums[row / 4 + lane] = columnSum; // the padding of x is zero
#endif
#else
    ADD_PRODUCT(x, w, inner);
#if !BATCHED
    if (PAIRS > 1) ADD_PRODUCT(x1, w1, inner1);
    if (PAIRS > 2) ADD_PRODUCT(x2, w2, inner2);
#endif
#endif

    if (vector >= vectors) return;
    [[unroll]] for (uint i = 0; i < ROWS; ++i) {
        if (row + i >= rows) return;
        const uint at = yStart + (row + i) * vectors + vector;
#if W_IS_TRANSPOSED
        result[at] = sum[i] * scale * vec4(lessThan(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(columns)));
#elif BATCHED || X_IS_TRANSPOSED
        result[at] = sum[i] * scale; // the padding of w is zero
#else
        STORE_PLAIN(at, sum[i]);
#endif
    }
}
