// Products of matrices in tiles of 32 rows by 32 columns per set of eight lanes, four columns per lane: for gradients of matmul and,
// BATCHED, for many matrices at once. Include after tensor.glsl and lanes8.glsl (and activation.glsl for the first); define
// X_IS_TRANSPOSED, W_IS_TRANSPOSED and BATCHED, each 0 or 1.
//
//   neither:          y[m,n] = scale * f'(argument[m,n]) * sum over k of x[m,k] w[k,n] + residual[m,n]
//   X_IS_TRANSPOSED:  y[m,n] = scale * sum over k of x[k,m] w[k,n]    sums[m] = sum over k of x[k,m]
//   BATCHED:          y[z,m,n] = scale * sum over k of x[z,m,k] or x[z,k,m] times w[z,k,n] or, W_IS_TRANSPOSED, w[z,n,k]
//
// Bindings   neither:         1 x  2 w [K,N]  3 argument [M,N] or any tensor  4 residual [M,N] or any tensor  5 y [M,N]
//            X_IS_TRANSPOSED: 1 x  2 w [K,N]  3 y [M,N]  4 sums [M]
//            BATCHED:         1 x  2 w  3 y
// Push       rows M, columns N, inner K, scale; neither: hasResidual; BATCHED: batches, which z / batches and z % batches count, and
//            for each tensor its first vector and its steps along z % batches and z / batches
// Constants  2: of the first, the activation f
// Local size 8 x L. Grid ceil(N / 32) x ceil(M / (32 L)) x all batches.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push {
    uint rows, columns, inner;
    float scale;
#if BATCHED
    uint batches, xBatch[3], wBatch[3], yBatch[3];
#elif !X_IS_TRANSPOSED
    uint hasResidual;
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
INPUT4(3, argument);
INPUT4(4, residual);
OUTPUT4(5, result);
#define START(batch) 0
#endif

const uint ROWS = 32;

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
    // Lanes are rows of x when loading it; its padding is zero, so that repeated rows of w count nothing.
    const uint depth = (inner + 3) / 4;
    uint xBase[ROWS / WIDTH];
    [[unroll]] for (uint r = 0; r < ROWS / WIDTH; ++r) xBase[r] = xStart + min(row + r * WIDTH + lane, rows - 1) * depth;
#if W_IS_TRANSPOSED
    const uvec4 wBase = wStart + min(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(columns - 1)) * depth;
#else
    const uint wColumn = wStart + min(vector, vectors - 1);
#endif
    for (uint k = 0; k < depth; ++k) {
        vec4 a[ROWS / WIDTH], b[4];
        [[unroll]] for (uint r = 0; r < ROWS / WIDTH; ++r) a[r] = LOAD4(x, xBase[r] + k);
#if W_IS_TRANSPOSED
        [[unroll]] for (uint u = 0; u < 4; ++u) b[u] = LOAD4(w, wBase[u] + k);
#else
        [[unroll]] for (uint u = 0; u < 4; ++u) b[u] = LOAD4(w, min(k * 4 + u, inner - 1) * vectors + wColumn);
#endif
        [[unroll]] for (uint i = 0; i < ROWS; ++i) {
            const vec4 s = SHUFFLE4(a[i / WIDTH], i % WIDTH);
#if W_IS_TRANSPOSED
            sum[i] += vec4(dot(s, b[0]), dot(s, b[1]), dot(s, b[2]), dot(s, b[3]));
#else
            sum[i] += s.x * b[0] + s.y * b[1] + s.z * b[2] + s.w * b[3];
#endif
        }
    }
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
        vec4 y = sum[i] * scale;
        if (ACTIVATION != 0u) y *= activationDerivative4(ACTIVATION, LOAD4(argument, at));
        result[at] = y + (hasResidual == 1u ? LOAD4(residual, at) : vec4(0.0));
#endif
    }
}
