#include "engine/ops/scan.h"

#include "engine/ops/definitions.h"
#include "engine/ops/gradient_ops.h"
#include "engine/ops/sequence_rules.h"
#include "engine/ops/tensor_ops.h"

#include <array>
#include <cmath>

namespace attn {
namespace {

Recurrence kindOf(const Attributes& attributes) { return static_cast<Recurrence>(attributes.integer("kind")); }
int64_t gatesOf(Recurrence kind) { return host::Recurrent{.kind = kind}.gates(); }
int64_t keptOf(Recurrence kind) { return host::Recurrent{.kind = kind}.kept(); }
bool hasCell(const Attributes& attributes) { return kindOf(attributes) == Recurrence::Lstm; }
bool isGated(const Attributes& attributes) { return kindOf(attributes) == Recurrence::Gru; }

// scan: gates, recurrent, state, cell (LSTM), bias (GRU, optional), lengths (optional) -> hidden, state, cell (LSTM),
// kept
struct ScanPlaces {
    uint32_t gates = 0, recurrent = 1, state = 2, cell, bias, lengths, count;
    uint32_t hidden = 0, lastState = 1, lastCell, kept;
    explicit ScanPlaces(const Attributes& attributes) {
        Places in{3}, out{2};
        cell = in.next(hasCell(attributes));
        bias = in.next(attributes.flag("bias"));
        lengths = in.next(attributes.flag("lengths"));
        count = in.count;
        lastCell = out.next(hasCell(attributes));
        kept = out.next(keptOf(kindOf(attributes)) > 0);
    }
};

// scan_gradient: recurrent, hidden, state, dHidden, dState, then cell and dCell (LSTM), kept, lengths
// -> dGates, dState, then dCell (LSTM), dRecurrent (GRU): the derivatives by R h
struct GradientPlaces {
    uint32_t recurrent = 0, hidden = 1, state = 2, dHidden = 3, dLastState = 4, cell, dLastCell, kept, lengths, count;
    uint32_t dGates = 0, dState = 1, dCell, dRecurrent;
    explicit GradientPlaces(const Attributes& attributes) {
        Places in{5}, out{2};
        cell = in.next(hasCell(attributes));
        dLastCell = in.next(hasCell(attributes));
        kept = in.next(keptOf(kindOf(attributes)) > 0);
        lengths = in.next(attributes.flag("lengths"));
        count = in.count;
        dCell = out.next(hasCell(attributes));
        dRecurrent = out.next(isGated(attributes));
    }
};

host::Recurrent sizesOf(const Attributes& attributes, const Shape& hidden) {
    return {.kind = kindOf(attributes), .B = hidden[0], .T = hidden[1], .W = hidden[2]};
}

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
    constexpr std::string_view kOp = "scan";
    const ScanPlaces at(attributes);
    requireInputs(inputs, at.count, kOp);
    requireWhole(inputs, kOp);
    const Shape &gates = inputs[at.gates].shape, &recurrent = inputs[at.recurrent].shape;
    const Recurrence kind = kindOf(attributes);
    const int64_t count = gatesOf(kind), W = recurrent[0];
    require(gates.rank() == 3 && recurrent.rank() == 2 && recurrent[1] == count * W && gates[2] == count * W, kOp,
            fmt::format("the gates {} and the recurrent matrix {} do not fit {} gates", gates.text(), recurrent.text(),
                        count));
    requireShape(inputs[at.state], {gates[0], W}, "the state", kOp);
    if (at.cell != kAbsent) requireShape(inputs[at.cell], {gates[0], W}, "the cell", kOp);
    if (at.bias != kAbsent) {
        require(kind == Recurrence::Gru, kOp, "only a GRU has a bias of its own");
        requireShape(inputs[at.bias], {W}, "the bias", kOp);
    }
    if (at.lengths != kAbsent) requireLengths(inputs[at.lengths], gates[0], kOp);
    const int64_t B = gates[0], T = gates[1];
    std::vector<TensorType> outputs{{.shape = {B, T, W}}, {.shape = {B, W}}};
    if (at.cell != kAbsent) outputs.push_back({.shape = {B, W}});
    if (at.kept != kAbsent) outputs.push_back({.shape = {B, T, keptOf(kind) * W}});
    return outputs;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

void reference(const ReferenceCall& call) {
    const ScanPlaces at(call.attributes);
    const ReferenceTensor &gates = call.inputs[at.gates], &recurrent = call.inputs[at.recurrent];
    const host::Recurrent of = sizesOf(call.attributes, call.outputs[0].shape);
    const int64_t W = of.W;
    std::vector<double> sums(static_cast<size_t>(of.gates() * W));
    for (int64_t b = 0; b < of.B; ++b) {
        double* h = call.outputs[at.lastState].row(b);
        double* c = at.cell == kAbsent ? nullptr : call.outputs[at.lastCell].row(b);
        std::copy_n(call.inputs[at.state].row(b), W, h);
        if (c != nullptr) std::copy_n(call.inputs[at.cell].row(b), W, c);
        for (int64_t t = 0; t < lengthOf(call.inputs, at.lengths, b, of.T); ++t) {
            const double* x = gates.row(b * of.T + t);
            for (int64_t j = 0; j < of.gates() * W; ++j) {
                double& sum = sums[static_cast<size_t>(j)];
                const bool isInner = of.kind == Recurrence::Gru && j >= 2 * W;
                sum = !isInner ? x[j] : at.bias == kAbsent ? 0 : call.inputs[at.bias].data[j - 2 * W];
                for (int64_t k = 0; k < W; ++k) sum += h[k] * recurrent.row(k)[j];
            }
            for (int64_t w = 0; w < W; ++w) {
                const auto sum = [&](int64_t gate) { return sums[static_cast<size_t>(gate * W + w)]; };
                const auto keep = [&](std::initializer_list<double> values) {
                    int64_t place = w;
                    for (const double value : values) {
                        call.outputs[at.kept].row(b * of.T + t)[place] = value;
                        place += W;
                    }
                };
                if (of.kind == Recurrence::Elman) {
                    h[w] = std::tanh(sum(0));
                } else if (of.kind == Recurrence::Lstm) {
                    const double i = logistic(sum(0)), f = logistic(sum(1)), g = std::tanh(sum(2)),
                                 o = logistic(sum(3));
                    c[w] = f * c[w] + i * g;
                    h[w] = o * std::tanh(c[w]);
                    keep({i, f, g, o, c[w]});
                } else {
                    const double r = logistic(sum(0)), z = logistic(sum(1)), n = std::tanh(x[2 * W + w] + r * sum(2));
                    h[w] = (1 - z) * n + z * h[w];
                    keep({r, z, n, sum(2)});
                }
                call.outputs[at.hidden].row(b * of.T + t)[w] = h[w];
            }
        }
    }
}

/// One launch for each row of the sequences, because each row needs the previous one.
std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits&) {
    const ScanPlaces at(types.attributes);
    const host::Recurrent of = sizesOf(types.attributes, types.outputs[0].shape);
    const FlatGrid grid(of.B * of.stride());
    std::vector<Dispatch> list;
    for (int64_t t = 0; t < of.T; ++t)
        list.push_back({.shader = "ops/scan",
                        .bindings = {readInput(at.gates), readInput(at.recurrent), readInput(at.state), readIf(at.cell),
                                     readIf(at.bias), readIf(at.lengths), writeOutput(at.hidden),
                                     writeOutput(at.lastState), writeIf(at.lastCell), writeIf(at.kept)},
                        .push = {u32(of.B), u32(of.W), u32(of.T), u32(t), at.bias != kAbsent, at.lengths != kAbsent},
                        .specialisation = {static_cast<uint32_t>(of.kind)},
                        .x = grid.x,
                        .y = grid.y,
                        .barrierBefore = t > 0});
    return list;
}

HostKernel hostKernel(const OpTypes& types) {
    return [at = ScanPlaces(types.attributes),
            sizes = sizesOf(types.attributes, types.outputs[0].shape)](const HostRun& run) {
        host::Recurrent of = sizes;
        of.state = run.inputs[at.state];
        of.cell = inputIn(run, at.cell);
        of.lengths = lengthsIn(run, at.lengths);
        host::recur(of,
                    {.gates = run.inputs[at.gates],
                     .recurrent = run.inputs[at.recurrent],
                     .bias = inputIn(run, at.bias),
                     .hidden = run.outputs[at.hidden],
                     .lastState = run.outputs[at.lastState],
                     .lastCell = outputIn(run, at.lastCell),
                     .kept = outputIn(run, at.kept)},
                    run.pool);
    };
}

/// The product with R, and about twelve operations for each gate's function and the update.
double operations(const OpTypes& types) {
    const auto each = static_cast<double>(types.inputs[0].shape.elements());
    return each * (2.0 * static_cast<double>(types.inputs[1].shape[0]) + 12);
}

std::vector<Tensor> gradient(const GradientCall& call) {
    const ScanPlaces at(call.attributes);
    const Tensor recurrent = call.inputs[at.recurrent], hidden = call.outputs[at.hidden];
    std::vector<Tensor> inputs{permute(recurrent, {1, 0}), hidden, call.inputs[at.state], gradientOf(call, at.hidden),
                               gradientOf(call, at.lastState)};
    if (at.cell != kAbsent) inputs.insert(inputs.end(), {call.inputs[at.cell], gradientOf(call, at.lastCell)});
    if (at.kept != kAbsent) inputs.push_back(call.outputs[at.kept]);
    if (at.lengths != kAbsent) inputs.push_back(call.inputs[at.lengths]);
    const GradientPlaces d(call.attributes);
    const Tensor dGates = call.graph.add(kScanGradient, inputs, call.attributes);
    const Tensor dSums = d.dRecurrent == kAbsent ? dGates : outputOf(dGates, d.dRecurrent);
    // The states before each row, [B,T,W]: those that R has multiplied.
    const Shape& shape = hidden.shape();
    std::vector<Tensor> states{reshape(call.inputs[at.state], {shape[0], 1, shape[2]})};
    if (shape[1] > 1) states.push_back(slice(hidden, 1, 0, shape[1] - 1));
    const Tensor before = concatenate(states, 1);
    std::vector<Tensor> result{dGates, matmulTransposed(before, dSums).product, outputOf(dGates, d.dState)};
    if (at.cell != kAbsent) result.push_back(outputOf(dGates, d.dCell));
    if (at.bias != kAbsent)
        result.push_back(reshape(reduce(slice(dSums, 2, 2 * shape[2], shape[2]), Reduction::Sum, {0, 1}), {shape[2]}));
    if (at.lengths != kAbsent) result.push_back({});
    return result;
}

std::vector<TensorType> inferGradient(std::span<const TensorType> inputs, const Attributes& attributes) {
    constexpr std::string_view kOp = "scan_gradient";
    const GradientPlaces at(attributes);
    requireInputs(inputs, at.count, kOp);
    requireWhole(inputs, kOp);
    const Shape& hidden = inputs[at.hidden].shape;
    const int64_t all = gatesOf(kindOf(attributes)) * hidden[2];
    require(inputs[at.recurrent].shape == Shape{all, hidden[2]} && inputs[at.dHidden].shape == hidden, kOp,
            fmt::format("the recurrent matrix {} does not fit {}", inputs[at.recurrent].shape.text(), hidden.text()));
    const TensorType state{.shape = {hidden[0], hidden[2]}}, gates{.shape = {hidden[0], hidden[1], all}};
    std::vector<TensorType> outputs{gates, state};
    if (at.dCell != kAbsent) outputs.push_back(state);
    if (at.dRecurrent != kAbsent) outputs.push_back(gates);
    return outputs;
}

void referenceGradient(const ReferenceCall& call) {
    const GradientPlaces at(call.attributes);
    const auto in = [&](uint32_t place) -> const ReferenceTensor& { return call.inputs[place]; };
    const host::Recurrent of = sizesOf(call.attributes, in(at.hidden).shape);
    const int64_t W = of.W, all = of.gates() * W;
    std::vector<double> sums(static_cast<size_t>(all)); // derivatives by R h
    for (int64_t b = 0; b < of.B; ++b) {
        double* dh = call.outputs[at.dState].row(b);
        double* dc = at.cell == kAbsent ? nullptr : call.outputs[at.dCell].row(b);
        std::copy_n(in(at.dLastState).row(b), W, dh);
        if (dc != nullptr) std::copy_n(in(at.dLastCell).row(b), W, dc);
        for (int64_t t = lengthOf(call.inputs, at.lengths, b, of.T); t-- > 0;) {
            const int64_t row = b * of.T + t;
            double* dx = call.outputs[at.dGates].row(row);
            for (int64_t w = 0; w < W; ++w) {
                const auto kept = [&](int64_t gate) { return in(at.kept).row(row)[gate * W + w]; };
                const double h = in(at.hidden).row(row)[w], d = in(at.dHidden).row(row)[w] + dh[w];
                const double before = t > 0 ? in(at.hidden).row(row - 1)[w] : in(at.state).row(b)[w];
                dh[w] = 0;
                if (of.kind == Recurrence::Elman) {
                    dx[w] = d * (1 - h * h);
                } else if (of.kind == Recurrence::Lstm) {
                    const double i = kept(0), f = kept(1), g = kept(2), o = kept(3), tanh = std::tanh(kept(4)),
                                 cellBefore = t > 0 ? in(at.kept).row(row - 1)[4 * W + w] : in(at.cell).row(b)[w];
                    const double cell = dc[w] + d * o * (1 - tanh * tanh);
                    dx[w] = cell * g * i * (1 - i);
                    dx[W + w] = cell * cellBefore * f * (1 - f);
                    dx[2 * W + w] = cell * i * (1 - g * g);
                    dx[3 * W + w] = d * tanh * o * (1 - o);
                    dc[w] = cell * f;
                } else {
                    const double r = kept(0), z = kept(1), n = kept(2), dn = d * (1 - z) * (1 - n * n);
                    dx[w] = dn * kept(3) * r * (1 - r);
                    dx[W + w] = d * (before - n) * z * (1 - z);
                    dx[2 * W + w] = dn;
                    dh[w] = d * z;
                }
            }
            std::copy_n(dx, all, sums.begin());
            if (at.dRecurrent != kAbsent) {
                for (int64_t w = 0; w < W; ++w) sums[static_cast<size_t>(2 * W + w)] *= in(at.kept).row(row)[w];
                std::ranges::copy(sums, call.outputs[at.dRecurrent].row(row));
            }
            for (int64_t j = 0; j < all; ++j)
                for (int64_t w = 0; w < W; ++w) dh[w] += sums[static_cast<size_t>(j)] * in(at.recurrent).row(j)[w];
        }
    }
}

/// One launch for each row, from the last to the first. The launch of row t - 1 multiplies the gradient of row t with
/// R.
std::vector<Dispatch> dispatchGradient(const OpTypes& types, const KernelTraits&) {
    const GradientPlaces at(types.attributes);
    const host::Recurrent of = sizesOf(types.attributes, types.inputs[at.hidden].shape);
    const FlatGrid grid(of.B * of.stride());
    std::vector<Dispatch> list;
    for (int64_t t = of.T; t >= 0; --t) // row t - 1, and finally the state before all rows
        list.push_back({.shader = "ops/scan_gradient",
                        .bindings = {readInput(at.recurrent), readInput(at.hidden), readInput(at.state),
                                     readInput(at.dHidden), readInput(at.dLastState), readIf(at.cell),
                                     readIf(at.dLastCell), readIf(at.kept), readIf(at.lengths), writeOutput(at.dGates),
                                     writeOutput(at.dState), writeIf(at.dCell), writeIf(at.dRecurrent)},
                        .push = {u32(of.B), u32(of.W), u32(of.T), u32(t), at.lengths != kAbsent},
                        .specialisation = {static_cast<uint32_t>(of.kind)},
                        .x = grid.x,
                        .y = grid.y,
                        .barrierBefore = t < of.T});
    return list;
}

HostKernel hostGradient(const OpTypes& types) {
    const GradientPlaces places(types.attributes);
    return [at = places, sizes = sizesOf(types.attributes, types.inputs[places.hidden].shape)](const HostRun& run) {
        host::Recurrent of = sizes;
        of.state = run.inputs[at.state];
        of.cell = inputIn(run, at.cell);
        of.lengths = lengthsIn(run, at.lengths);
        host::recurBackward(of,
                            {.recurrent = run.inputs[at.recurrent],
                             .hidden = run.inputs[at.hidden],
                             .kept = inputIn(run, at.kept),
                             .dHidden = run.inputs[at.dHidden],
                             .dLastState = run.inputs[at.dLastState],
                             .dLastCell = inputIn(run, at.dLastCell),
                             .dGates = run.outputs[at.dGates],
                             .dState = run.outputs[at.dState],
                             .dCell = outputIn(run, at.dCell),
                             .dRecurrent = outputIn(run, at.dRecurrent)},
                            run.pool);
    };
}

double operationsGradient(const OpTypes& types) {
    const auto each = static_cast<double>(types.outputs[0].shape.elements());
    return each * (2.0 * static_cast<double>(types.inputs[1].shape[2]) + 12);
}

} // namespace

const Op kScan{.name = "scan",
               .infer = infer,
               .reference = reference,
               .dispatch = dispatch,
               .host = hostKernel,
               .gradient = gradient,
               .operations = operations};
const Op kScanGradient{.name = "scan_gradient",
                       .infer = inferGradient,
                       .reference = referenceGradient,
                       .dispatch = dispatchGradient,
                       .host = hostGradient,
                       .operations = operationsGradient};

Scanned scan(Recurrence kind, const ScanInputs& in) {
    require(in.recurrent.shape().rank() == 2, "scan",
            fmt::format("the recurrent matrix {} is no matrix", in.recurrent.shape().text()));
    require((kind == Recurrence::Lstm) == static_cast<bool>(in.cell), "scan", "an LSTM, and nothing else, has a cell");
    std::vector<Tensor> inputs{in.gates, permute(in.recurrent, {1, 0}), in.state};
    for (const Tensor& each : {in.cell, in.bias, in.lengths})
        if (each) inputs.push_back(each);
    const Tensor hidden = in.gates.graph->add(
        kScan, inputs,
        {{"kind", static_cast<double>(kind)}, {"bias", in.bias ? 1 : 0}, {"lengths", in.lengths ? 1 : 0}});
    const ScanPlaces at(hidden.graph->node(hidden.node).attributes);
    const auto output = [&](uint32_t place) { return place == kAbsent ? Tensor() : outputOf(hidden, place); };
    return {hidden, output(at.lastState), output(at.lastCell), output(at.kept)};
}

} // namespace attn
