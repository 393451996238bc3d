#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

// Floats as numbers of 16 bits, rounded to nearest even, four per invocation at a time. In integers, because devices may round
// halves otherwise and flush small ones.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint IS_BRAIN = 0; // 0: IEEE 754 binary16, 1: bfloat16
layout(push_constant) uniform Push { uint count; };
INPUT4(1, x);
layout(std430, binding = 2) writeonly buffer ShortsBuffer { uvec2 result[]; };

uint brain(uint bits) {
    if ((bits & 0x7fffffffu) > 0x7f800000u) return bits >> 16 | 0x40u;
    return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

uint half_(uint bits) {
    const uint size = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
    if (size > 0x7f800000u) return sign | 0x7e00u;
    if (size >= 0x47800000u) return sign | 0x7c00u;
    if (size < 0x33000000u) return sign; // less than half of the smallest half
    if (size >= 0x38800000u) return sign | (size + 0xfffu + (size >> 13 & 1u) - 0x38000000u) >> 13;
    const uint digits = size & 0x7fffffu | 0x800000u, shift = 126u - (size >> 23); // a multiple of the smallest half
    return sign | (digits + (1u << shift - 1u) - 1u + (digits >> shift & 1u)) >> shift;
}

uint shortOf(float value) { return IS_BRAIN == 1u ? brain(floatBitsToUint(value)) : half_(floatBitsToUint(value)); }

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * 64) {
        const vec4 v = LOAD4(x, i);
        result[i] = uvec2(shortOf(v.x) | shortOf(v.y) << 16, shortOf(v.z) | shortOf(v.w) << 16);
    }
}
