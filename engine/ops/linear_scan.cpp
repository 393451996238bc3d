#include "engine/ops/linear_scan.h"

#include "engine/host/linear_scan.h"
#include "engine/ops/definitions.h"
#include "engine/ops/sequence_rules.h"
#include "engine/ops/tensor_ops.h"

namespace attn {
namespace {

constexpr int64_t kChunk = 64; // rows that one invocation of a shader computes

// linear_scan: a, b, state, lengths (optional) -> hidden, last, scratch of the shaders for each chunk
enum Input : uint32_t { A, B, State, Lengths };
// linear_scan_gradient: a, hidden, state, dHidden, dLast, lengths (optional) -> da, db, dState, scratch for each chunk
enum GradientInput : uint32_t { GradientA, Hidden, GradientState, DHidden, DLast, GradientLengths };

bool isComplex(const Attributes& attributes) { return attributes.flag("complex"); }
uint32_t placeIf(const Attributes& attributes, uint32_t place) { return attributes.flag("lengths") ? place : kAbsent; }
host::LinearScan problemOf(const OpTypes& types) {
    const Shape& rows = types.inputs[0].shape;
    return {.rows = {.B = rows[0], .T = rows[1], .W = rows[2]}, .isComplex = isComplex(types.attributes)};
}
int64_t chunksOf(const Shape& rows) { return (rows[1] + kChunk - 1) / kChunk; }
/// For each chunk the product of a and the last h from a state of 0; then the state before the chunk.
Shape chunkShape(const Shape& rows) { return {rows[0], 2 * chunksOf(rows), rows[2]}; }

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
    constexpr std::string_view kOp = "linear_scan";
    requireInputs(inputs, attributes.flag("lengths") ? 4 : 3, kOp);
    requireWhole(inputs, kOp);
    const Shape& rows = inputs[A].shape;
    require(rows.rank() == 3 && (!isComplex(attributes) || rows[2] % 2 == 0), kOp,
            fmt::format("{} is not [B,T,W], with pairs of channels where numbers are complex", rows.text()));
    requireShape(inputs[B], rows, "b", kOp);
    requireShape(inputs[State], {rows[0], rows[2]}, "the state", kOp);
    if (attributes.flag("lengths")) requireLengths(inputs[Lengths], rows[0], kOp);
    return {{.shape = rows}, {.shape = {rows[0], rows[2]}}, {.shape = chunkShape(rows)}};
}

/// Real numbers as complex ones, or pairs of channels.
struct Numbers {
    bool isComplex;
    std::pair<double, double> at(const double* row, int64_t i) const {
        return isComplex ? std::pair{row[2 * i], row[2 * i + 1]} : std::pair{row[i], 0.0};
    }
    void put(double* row, int64_t i, std::pair<double, double> value) const {
        row[isComplex ? 2 * i : i] = value.first;
        if (isComplex) row[2 * i + 1] = value.second;
    }
    static std::pair<double, double> times(std::pair<double, double> a, std::pair<double, double> b) {
        return {a.first * b.first - a.second * b.second, a.first * b.second + a.second * b.first};
    }
    static std::pair<double, double> plus(std::pair<double, double> a, std::pair<double, double> b) {
        return {a.first + b.first, a.second + b.second};
    }
    static std::pair<double, double> conjugate(std::pair<double, double> a) { return {a.first, -a.second}; }
};

void reference(const ReferenceCall& call) {
    const ReferenceTensor &a = call.inputs[A], &hidden = call.outputs[0], &last = call.outputs[1];
    const Numbers numbers{isComplex(call.attributes)};
    const int64_t T = a.shape[1], count = numbers.isComplex ? a.columns() / 2 : a.columns();
    for (int64_t b = 0; b < a.shape[0]; ++b) {
        const int64_t length = lengthOf(call.inputs, placeIf(call.attributes, Lengths), b, T);
        for (int64_t i = 0; i < count; ++i) {
            auto h = numbers.at(call.inputs[State].row(b), i);
            for (int64_t t = 0; t < length; ++t) {
                const int64_t row = b * T + t;
                h = Numbers::plus(Numbers::times(numbers.at(a.row(row), i), h), numbers.at(call.inputs[B].row(row), i));
                numbers.put(hidden.row(row), i, h);
            }
            numbers.put(last.row(b), i, h);
        }
    }
}

/// Launches that compute all chunks at once, join them, and compute them again from the states before them.
std::vector<Dispatch> chunkDispatches(const host::LinearScan& of, bool isBackward, bool hasLengths,
                                      const std::vector<Binding>& bindings) {
    const int64_t vectors = of.rows.stride() / 4, chunks = (of.rows.T + kChunk - 1) / kChunk;
    std::vector<Dispatch> list;
    for (const uint32_t phase : {0u, 1u, 2u}) {
        const FlatGrid grid(of.rows.B * vectors * (phase == 1 ? 1 : chunks));
        list.push_back({.shader = isBackward ? "ops/linear_scan_gradient" : "ops/linear_scan",
                        .bindings = bindings,
                        .push = {u32(of.rows.B), u32(vectors), u32(of.rows.T), u32(kChunk), u32(chunks), hasLengths},
                        .specialisation = {phase, of.isComplex ? 1u : 0u},
                        .x = grid.x,
                        .y = grid.y,
                        .barrierBefore = phase > 0});
    }
    return list;
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits&) {
    const uint32_t lengths = placeIf(types.attributes, Lengths);
    return chunkDispatches(
        problemOf(types), false, lengths != kAbsent,
        {load4(A), load4(B), load4(State), readIf(lengths), writeOutput(0), writeOutput(1), writeOutput(2)});
}

HostKernel hostKernel(const OpTypes& types) {
    return [problem = problemOf(types), lengths = placeIf(types.attributes, Lengths)](const HostRun& run) {
        host::LinearScan of = problem;
        of.rows.lengths = lengthsIn(run, lengths);
        host::linearScan(of, run.inputs[A], run.inputs[B], run.inputs[State], run.outputs[0], run.outputs[1], run.pool);
    };
}

double operations(const OpTypes& types) {
    return static_cast<double>(types.inputs[0].shape.elements()) * (isComplex(types.attributes) ? 4 : 2);
}

std::vector<Tensor> gradient(const GradientCall& call) {
    std::vector<Tensor> inputs{call.inputs[A], call.outputs[0], call.inputs[State], gradientOf(call, 0),
                               gradientOf(call, 1)};
    if (call.attributes.flag("lengths")) inputs.push_back(call.inputs[Lengths]);
    const Tensor da = call.graph.add(kLinearScanGradient, inputs, call.attributes);
    std::vector<Tensor> result{da, outputOf(da, 1), outputOf(da, 2)};
    if (call.attributes.flag("lengths")) result.push_back({});
    return result;
}

std::vector<TensorType> inferGradient(std::span<const TensorType> inputs, const Attributes& attributes) {
    constexpr std::string_view kOp = "linear_scan_gradient";
    requireInputs(inputs, attributes.flag("lengths") ? 6 : 5, kOp);
    requireWhole(inputs, kOp);
    const Shape& rows = inputs[GradientA].shape;
    requireShape(inputs[DHidden], rows, "the gradient", kOp);
    return {{.shape = rows}, {.shape = rows}, {.shape = {rows[0], rows[2]}}, {.shape = chunkShape(rows)}};
}

void referenceGradient(const ReferenceCall& call) {
    const ReferenceTensor& a = call.inputs[GradientA];
    const Numbers numbers{isComplex(call.attributes)};
    const int64_t T = a.shape[1], count = numbers.isComplex ? a.columns() / 2 : a.columns();
    for (int64_t b = 0; b < a.shape[0]; ++b) {
        const int64_t length = lengthOf(call.inputs, placeIf(call.attributes, GradientLengths), b, T);
        for (int64_t i = 0; i < count; ++i) {
            auto d = numbers.at(call.inputs[DLast].row(b), i);
            for (int64_t t = length; t-- > 0;) {
                const int64_t row = b * T + t;
                const double* before = t > 0 ? call.inputs[Hidden].row(row - 1) : call.inputs[GradientState].row(b);
                const auto g = Numbers::plus(d, numbers.at(call.inputs[DHidden].row(row), i));
                numbers.put(call.outputs[1].row(row), i, g);
                numbers.put(call.outputs[0].row(row), i, Numbers::times(Numbers::conjugate(numbers.at(before, i)), g));
                d = Numbers::times(Numbers::conjugate(numbers.at(a.row(row), i)), g);
            }
            numbers.put(call.outputs[2].row(b), i, d);
        }
    }
}

std::vector<Dispatch> dispatchGradient(const OpTypes& types, const KernelTraits&) {
    const uint32_t lengths = placeIf(types.attributes, GradientLengths);
    return chunkDispatches(problemOf(types), true, lengths != kAbsent,
                           {load4(GradientA), load4(Hidden), load4(GradientState), load4(DHidden), load4(DLast),
                            readIf(lengths), writeOutput(0), writeOutput(1), writeOutput(2), writeOutput(3)});
}

HostKernel hostGradient(const OpTypes& types) {
    return [problem = problemOf(types), lengths = placeIf(types.attributes, GradientLengths)](const HostRun& run) {
        host::LinearScan of = problem;
        of.rows.lengths = lengthsIn(run, lengths);
        host::linearScanBackward(of,
                                 {.a = run.inputs[GradientA],
                                  .hidden = run.inputs[Hidden],
                                  .state = run.inputs[GradientState],
                                  .dHidden = run.inputs[DHidden],
                                  .dLast = run.inputs[DLast],
                                  .da = run.outputs[0],
                                  .db = run.outputs[1],
                                  .dState = run.outputs[2]},
                                 run.pool);
    };
}

} // namespace

const Op kLinearScan{.name = "linear_scan",
                     .infer = infer,
                     .reference = reference,
                     .dispatch = dispatch,
                     .host = hostKernel,
                     .gradient = gradient,
                     .operations = operations};
const Op kLinearScanGradient{.name = "linear_scan_gradient",
                             .infer = inferGradient,
                             .reference = referenceGradient,
                             .dispatch = dispatchGradient,
                             .host = hostGradient,
                             .operations = operations};

LinearScanned linearScan(const LinearScanInputs& in) {
    const Tensor a = in.a.shape() == in.b.shape() ? in.a : broadcast(in.a, in.b.shape());
    std::vector<Tensor> inputs{a, in.b, in.state};
    if (in.lengths) inputs.push_back(in.lengths);
    const Tensor hidden =
        in.b.graph->add(kLinearScan, inputs, {{"complex", in.isComplex ? 1 : 0}, {"lengths", in.lengths ? 1 : 0}});
    return {hidden, outputOf(hidden, 1)};
}

} // namespace attn
