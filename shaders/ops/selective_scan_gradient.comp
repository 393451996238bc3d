#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "flat.glsl"

// Backward through a chunk of rows of a selective state space: four channels of a sequence per invocation. It computes the chunk's states
// again, and leaves them and the derivatives by them for the sums over channels.
//
// Flat grid of B vectors.
layout(constant_id = 0) const uint N = 1;
layout(constant_id = 1) const uint CHUNK = 32;
layout(push_constant) uniform Push { uint sequences, vectors, rows, chunk, chunks, hasLengths; };
INPUT4(1, x);
INPUT4(2, step_);
INPUT4(3, decay);
INPUT_F(4, in_);
INPUT_F(5, out_);
INPUT4(6, states);
INPUT4(7, dy);
INPUT4(8, dLast);
INPUT_I(9, lengths);
OUTPUT4(10, dx);
OUTPUT4(11, dStep);
layout(std430, binding = 12) buffer DDecayBuffer { vec4 dDecay[]; };
layout(std430, binding = 13) buffer DStateBuffer { vec4 dState[]; };
layout(std430, binding = 14) buffer KeptBuffer { vec4 kept[]; }; // [B, 2 CHUNK, N, W]: states after each row, then derivatives by them

void main() {
    const uint v = FLAT_INDEX % vectors, b = FLAT_INDEX / vectors, stride = (N + 3) / 4 * 4;
    if (b >= sequences) return;
    const uint begin = chunk * CHUNK, end = min(begin + CHUNK, rows),
               live = clamp(hasLengths == 1u ? uint(max(lengths[b], 0)) : rows, begin, end); // where the rows that count end
    const uint before = (b * chunks + chunk) * N * vectors + v, own = b * 2 * CHUNK * N * vectors + v, ownD = own + CHUNK * N * vectors;
    vec4 h[N];
    for (uint n = 0; n < N; ++n) h[n] = LOAD4(states, before + n * vectors);
    for (uint t = begin; t < live; ++t) {
        const uint row = b * rows + t, at = row * vectors + v;
        const vec4 dt = LOAD4(step_, at), entering = dt * LOAD4(x, at);
        for (uint n = 0; n < N; ++n) {
            h[n] = exp(dt * LOAD4(decay, n * vectors + v)) * h[n] + entering * in_[row * stride + n];
            kept[own + ((t - begin) * N + n) * vectors] = h[n];
        }
    }
    vec4 d[N], byDecay[N];
    for (uint n = 0; n < N; ++n) {
        const uint at = (b * N + n) * vectors + v;
        d[n] = chunk + 1 == chunks ? LOAD4(dLast, at) : dState[at];
        byDecay[n] = chunk + 1 == chunks ? vec4(0.0) : dDecay[at];
    }
    for (uint t = live; t < end; ++t) {
        dx[(b * rows + t) * vectors + v] = vec4(0.0);
        dStep[(b * rows + t) * vectors + v] = vec4(0.0);
    }
    for (uint t = live; t-- > begin;) {
        const uint row = b * rows + t, at = row * vectors + v, place = (t - begin) * N * vectors;
        const vec4 dt = LOAD4(step_, at);
        vec4 byInput = vec4(0.0), byStep = vec4(0.0);
        for (uint n = 0; n < N; ++n) {
            const vec4 a = LOAD4(decay, n * vectors + v);
            const vec4 earlier = t == begin ? LOAD4(states, before + n * vectors) : kept[own + place - (N - n) * vectors];
            const vec4 g = d[n] + out_[row * stride + n] * LOAD4(dy, at);
            byInput += g * in_[row * stride + n];
            d[n] = g * exp(dt * a);
            const vec4 byPower = d[n] * earlier;
            byStep += byPower * a;
            byDecay[n] += byPower * dt;
            kept[ownD + place + n * vectors] = g;
        }
        dx[at] = byInput * dt;
        dStep[at] = byInput * LOAD4(x, at) + byStep;
    }
    for (uint n = 0; n < N; ++n) {
        const uint at = (b * N + n) * vectors + v;
        dState[at] = d[n];
        dDecay[at] = byDecay[n];
    }
}
