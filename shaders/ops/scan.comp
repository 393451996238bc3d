#version 450
#extension GL_GOOGLE_include_directive : require
#include "activation.glsl"
#include "tensor.glsl"
#include "flat.glsl"

// One row of each sequence of a recurrent network: one number of the hidden state per invocation. A later launch goes on from what
// this one leaves in the hidden states and the last cell.
//
// Flat grid of B padded W.
layout(constant_id = 0) const uint KIND = 0; // the order of attn::Recurrence
layout(push_constant) uniform Push { uint sequences, width, rows, row, hasBias, hasLengths; };
INPUT_F(1, gates);
INPUT_F(2, recurrent); // [W, gates W]
INPUT_F(3, state);
INPUT_F(4, cell);
INPUT_F(5, bias);
INPUT_I(6, lengths);
layout(std430, binding = 7) buffer HiddenBuffer { float hidden[]; };
OUTPUT_F(8, lastState);
layout(std430, binding = 9) buffer LastCellBuffer { float lastCell[]; };
OUTPUT_F(10, kept);

const uint GATES = KIND == 1 ? 4 : KIND == 2 ? 3 : 1, KEPT = KIND == 0 ? 0 : GATES + 1;
uint padded(uint columns) { return (columns + 3) / 4 * 4; }

void main() {
    const uint own = FLAT_INDEX, stride = padded(width), w = own % stride, b = own / stride;
    if (b >= sequences) return;
    const uint at = b * rows + row, gateRow = at * padded(GATES * width), keptRow = at * padded(KEPT * width);
    const bool counts = hasLengths == 0u || int(row) < lengths[b], exists = w < width;
    if (row == 0 && !(counts && exists)) {
        lastState[own] = state[own];
        if (KIND == 1u) lastCell[own] = cell[own];
    }
    if (!exists) hidden[at * stride + w] = 0.0;
    if (w < padded(KEPT * width) - KEPT * width) kept[keptRow + KEPT * width + w] = 0.0;
    if (!exists) return;
    if (!counts) {
        hidden[at * stride + w] = 0.0;
        for (uint part = 0; part < KEPT; ++part) kept[keptRow + part * width + w] = 0.0;
        return;
    }
    vec4 x = vec4(0.0), sum = vec4(0.0); // the gates, and R h
    for (uint gate = 0; gate < GATES; ++gate) x[gate] = gates[gateRow + gate * width + w];
    if (KIND == 2u && hasBias == 1u) sum[2] = bias[w];
    const uint columns = padded(GATES * width), before = (at - 1) * stride;
    for (uint k = 0; k < width; ++k) {
        const float h = row == 0 ? state[b * stride + k] : hidden[before + k];
        for (uint gate = 0; gate < GATES; ++gate) sum[gate] += h * recurrent[k * columns + gate * width + w];
    }
    const vec4 both = x + sum, s = sigmoid4(both), t = tanh4(both);
    float next = t[0];
    if (KIND == 1u) {
        const float c = s[1] * (row == 0 ? cell[own] : lastCell[own]) + s[0] * t[2];
        next = s[3] * tanh4(vec4(c)).x;
        lastCell[own] = c;
        kept[keptRow + w] = s[0];
        kept[keptRow + width + w] = s[1];
        kept[keptRow + 2 * width + w] = t[2];
        kept[keptRow + 3 * width + w] = s[3];
        kept[keptRow + 4 * width + w] = c;
    } else if (KIND == 2u) {
        const float n = tanh4(vec4(x[2] + s[0] * sum[2])).x, h = row == 0 ? state[own] : hidden[before + w];
        next = n + s[1] * (h - n);
        kept[keptRow + w] = s[0];
        kept[keptRow + width + w] = s[1];
        kept[keptRow + 2 * width + w] = n;
        kept[keptRow + 3 * width + w] = sum[2];
    }
    hidden[at * stride + w] = next;
    lastState[own] = next;
}
