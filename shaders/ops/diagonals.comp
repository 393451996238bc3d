#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// Columns that stand for distances into columns that stand for keys: y[n,t,s] = x[n,t,s - t + T - 1], or back (zeros where no
// key is). One element per invocation; y is t, z is n.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint xStride, yStride, queries, keys, isBack; };
INPUT_F(1, x);
OUTPUT_F(2, y);

void main() {
    const uint column = gl_GlobalInvocationID.x, t = gl_WorkGroupID.y;
    if (column >= yStride) return;
    const uint row = gl_WorkGroupID.z * queries + t;
    const int shift = int(queries) - 1 - int(t);
    const int from = isBack == 0u ? int(column) + shift : int(column) - shift;
    const bool isThere = isBack == 0u ? column < keys : from >= 0 && from < int(keys);
    y[row * yStride + column] = isThere ? x[row * xStride + from] : 0.0;
}
