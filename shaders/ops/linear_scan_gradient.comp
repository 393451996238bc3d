#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"
#include "linear_scan.glsl"

// Backward through h[t] = a[t] h[t - 1] + b[t]: d becomes conj(a[t]) (d + dHidden[t]).
INPUT4(1, a);
INPUT4(2, hidden);
INPUT4(3, state);
INPUT4(4, dHidden);
INPUT4(5, dLast);
INPUT_I(6, lengths);
OUTPUT4(7, da);
OUTPUT4(8, db);
OUTPUT4(9, dState);
layout(std430, binding = 10) buffer PartsBuffer { vec4 parts[]; };

void main() {
    const uint v = FLAT_INDEX % vectors, pieces = PHASE == 1u ? 1 : chunks, piece = FLAT_INDEX / vectors % pieces,
               sequence = FLAT_INDEX / vectors / pieces, own = sequence * vectors + v;
    if (sequence >= sequences) return;
    if (PHASE == 1u) {
        vec4 d = LOAD4(dLast, own);
        for (uint i = chunks; i > 0; --i) {
            const uint at = (sequence * chunks + i - 1) * 2 * vectors + v;
            const vec4 before = d;
            d = times(parts[at], d) + parts[at + vectors];
            parts[at] = before;
        }
        dState[own] = d;
        return;
    }
    const uint first = piece * chunk, end = min(first + chunk, rows), part = (sequence * chunks + piece) * 2 * vectors + v;
    const uint count = hasLengths == 1u ? uint(max(lengths[sequence], 0)) : rows;
    vec4 d = PHASE == 2u ? parts[part] : vec4(0.0), product = one();
    for (uint t = end; t-- > first;) {
        const uint at = (sequence * rows + t) * vectors + v;
        vec4 g = vec4(0.0), byFactor = vec4(0.0);
        if (t < count) {
            const vec4 factor = conjugate(LOAD4(a, at));
            g = d + LOAD4(dHidden, at);
            if (PHASE == 2u) byFactor = times(conjugate(t > 0 ? LOAD4(hidden, at - vectors) : LOAD4(state, own)), g);
            d = times(factor, g);
            product = times(factor, product);
        }
        if (PHASE == 2u) {
            db[at] = g;
            da[at] = byFactor;
        }
    }
    if (PHASE == 2u) return;
    parts[part] = product;
    parts[part + vectors] = d;
}
