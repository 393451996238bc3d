#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// Numbers of 16 bits as floats, four per invocation at a time.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint IS_BRAIN = 0; // 0: IEEE 754 binary16, 1: bfloat16
layout(push_constant) uniform Push { uint count; };
layout(std430, binding = 1) readonly buffer ShortsBuffer { uvec2 x[]; };
OUTPUT4(2, result);

float floatOf(uint number) {
    if (IS_BRAIN == 1u) return uintBitsToFloat(number << 16);
    const uint size = number & 0x7fffu, sign = (number & 0x8000u) << 16;
    if (size >= 0x7c00u) return uintBitsToFloat(sign | 0x7f800000u | size << 13);
    if (size >= 0x400u) return uintBitsToFloat(sign | (size << 13) + (112u << 23));
    const float small = float(size) * 5.9604644775390625e-8; // 2^-24
    return sign != 0u ? -small : small;
}

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * 64) {
        const uvec2 both = x[i];
        result[i] = vec4(floatOf(both.x & 0xffffu), floatOf(both.x >> 16), floatOf(both.y & 0xffffu), floatOf(both.y >> 16));
    }
}
