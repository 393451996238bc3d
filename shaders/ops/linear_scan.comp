#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"
#include "linear_scan.glsl"

// h[t] = a[t] h[t - 1] + b[t]
INPUT4(1, a);
INPUT4(2, b);
INPUT4(3, state);
INPUT_I(4, lengths);
OUTPUT4(5, hidden);
OUTPUT4(6, last);
layout(std430, binding = 7) buffer PartsBuffer { vec4 parts[]; };

void main() {
    const uint v = FLAT_INDEX % vectors, pieces = PHASE == 1u ? 1 : chunks, piece = FLAT_INDEX / vectors % pieces,
               sequence = FLAT_INDEX / vectors / pieces, own = sequence * vectors + v;
    if (sequence >= sequences) return;
    if (PHASE == 1u) {
        vec4 h = LOAD4(state, own);
        for (uint i = 0; i < chunks; ++i) {
            const uint at = (sequence * chunks + i) * 2 * vectors + v;
            const vec4 before = h;
            h = times(parts[at], h) + parts[at + vectors];
            parts[at] = before;
        }
        last[own] = h;
        return;
    }
    const uint first = piece * chunk, end = min(first + chunk, rows), part = (sequence * chunks + piece) * 2 * vectors + v;
    const uint count = hasLengths == 1u ? uint(max(lengths[sequence], 0)) : rows;
    vec4 h = PHASE == 2u ? parts[part] : vec4(0.0), product = one();
    for (uint t = first; t < end; ++t) {
        const uint at = (sequence * rows + t) * vectors + v;
        if (t < count) {
            const vec4 factor = LOAD4(a, at);
            h = times(factor, h) + LOAD4(b, at);
            product = times(factor, product);
        }
        if (PHASE == 2u) hidden[at] = t < count ? h : vec4(0.0);
    }
    if (PHASE == 2u) return;
    parts[part] = product;
    parts[part + vectors] = h;
}
