#version 450
#extension GL_GOOGLE_include_directive : require
#include "activation.glsl"
#include "tensor.glsl"
#include "flat.glsl"

// Backward through one row of each sequence of a recurrent network, one number of the hidden state per invocation. Launch t first
// completes the derivatives by the state after row t - 1, to which row t adds those that go through R; then it passes row t - 1.
//
// Flat grid of B padded W.
layout(constant_id = 0) const uint KIND = 0; // the order of attn::Recurrence
layout(push_constant) uniform Push { uint sequences, width, rows, t, hasLengths; };
INPUT_F(1, recurrent); // [gates W, W]
INPUT_F(2, hidden);
INPUT_F(3, state);
INPUT_F(4, dHidden);
INPUT_F(5, dLastState);
INPUT_F(6, cell);
INPUT_F(7, dLastCell);
INPUT_F(8, kept);
INPUT_I(9, lengths);
layout(std430, binding = 10) buffer DGatesBuffer { float dGates[]; };
layout(std430, binding = 11) buffer DStateBuffer { float dState[]; };
layout(std430, binding = 12) buffer DCellBuffer { float dCell[]; };
layout(std430, binding = 13) buffer DRecurrentBuffer { float dRecurrent[]; };

const uint GATES = KIND == 1 ? 4 : KIND == 2 ? 3 : 1, KEPT = KIND == 0 ? 0 : GATES + 1;
uint padded(uint columns) { return (columns + 3) / 4 * 4; }

void main() {
    const uint own = FLAT_INDEX, stride = padded(width), w = own % stride, b = own / stride, columns = padded(GATES * width);
    if (b >= sequences) return;
    if (w >= width) {
        dState[own] = 0.0;
        if (KIND == 1u) dCell[own] = 0.0;
    }
    if (t > 0 && w < columns - GATES * width) { // padding
        dGates[(b * rows + t - 1) * columns + GATES * width + w] = 0.0;
        if (KIND == 2u) dRecurrent[(b * rows + t - 1) * columns + GATES * width + w] = 0.0;
    }
    if (w >= width) return;
    float through = 0.0;
    if (t < rows) {
        const uint next = (b * rows + t) * columns;
        for (uint j = 0; j < GATES * width; ++j)
            through += (KIND == 2u ? dRecurrent[next + j] : dGates[next + j]) * recurrent[j * stride + w];
    }
    const float dh = (t == rows ? dLastState[own] : dState[own]) + through;
    if (t == 0) {
        dState[own] = dh;
        return;
    }
    const uint at = b * rows + t - 1, gateRow = at * columns + w, keptRow = at * padded(KEPT * width) + w;
    const float dc = KIND != 1u ? 0.0 : t == rows ? dLastCell[own] : dCell[own];
    if (hasLengths == 1u && int(t) > lengths[b]) {
        for (uint gate = 0; gate < GATES; ++gate) {
            dGates[gateRow + gate * width] = 0.0;
            if (KIND == 2u) dRecurrent[gateRow + gate * width] = 0.0;
        }
        dState[own] = dh;
        if (KIND == 1u) dCell[own] = dc;
        return;
    }
    const float d = dHidden[at * stride + w] + dh;
    if (KIND == 0u) {
        const float h = hidden[at * stride + w];
        dGates[gateRow] = d * (1.0 - h * h);
        dState[own] = 0.0;
    } else if (KIND == 1u) {
        const float i = kept[keptRow], f = kept[keptRow + width], g = kept[keptRow + 2 * width], o = kept[keptRow + 3 * width],
                    c = tanh4(vec4(kept[keptRow + 4 * width])).x;
        const float before = t == 1 ? cell[own] : kept[keptRow - padded(KEPT * width) + 4 * width];
        const float dCellHere = dc + d * o * (1.0 - c * c);
        dGates[gateRow] = dCellHere * g * i * (1.0 - i);
        dGates[gateRow + width] = dCellHere * before * f * (1.0 - f);
        dGates[gateRow + 2 * width] = dCellHere * i * (1.0 - g * g);
        dGates[gateRow + 3 * width] = d * c * o * (1.0 - o);
        dCell[own] = dCellHere * f;
        dState[own] = 0.0;
    } else {
        const float r = kept[keptRow], z = kept[keptRow + width], n = kept[keptRow + 2 * width], s = kept[keptRow + 3 * width];
        const float before = t == 1 ? state[own] : hidden[(at - 1) * stride + w];
        const float dn = d * (1.0 - z) * (1.0 - n * n), dr = dn * s * r * (1.0 - r), dz = d * (before - n) * z * (1.0 - z);
        dGates[gateRow] = dr;
        dGates[gateRow + width] = dz;
        dGates[gateRow + 2 * width] = dn;
        dRecurrent[gateRow] = dr;
        dRecurrent[gateRow + width] = dz;
        dRecurrent[gateRow + 2 * width] = dn * r;
        dState[own] = d * z;
    }
}
