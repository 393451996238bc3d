#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// Columns that stand for distances into columns that stand for keys: y[n,t,s] = x[n,t,s - t + T - 1], or back (zeros where no
// key is). Four columns per invocation; y is t, z is n.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint xStride, yStride, queries, keys, isBack; };
INPUT_F(1, x);
OUTPUT4(2, y);

void main() {
    const uint unit = gl_GlobalInvocationID.x, t = gl_WorkGroupID.y;
    if (unit * 4 >= yStride) return;
    const uint row = gl_WorkGroupID.z * queries + t;
    const int shift = isBack == 0u ? int(queries - 1 - t) : -int(queries - 1 - t);
    const int first = int(unit * 4) + shift, begin = isBack == 0u ? shift : 0; // columns of x: the first, and of the first that is there
    const ivec4 from = ivec4(first) + ivec4(0, 1, 2, 3), within = clamp(from, ivec4(begin), ivec4(begin + int(keys) - 1));
    const ivec4 at = ivec4(row * xStride) + within;
    y[row * (yStride / 4) + unit] = mix(vec4(0.0), vec4(x[at.x], x[at.y], x[at.z], x[at.w]), equal(from, within));
}
