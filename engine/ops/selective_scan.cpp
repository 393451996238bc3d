#include "engine/ops/selective_scan.h"

#include "engine/host/selective_scan.h"
#include "engine/ops/definitions.h"
#include "engine/ops/sequence_rules.h"
#include "engine/ops/tensor_ops.h"

#include <cmath>

namespace attn {
namespace {

constexpr int64_t kChunk = host::SelectiveScan::kChunk;

// selective_scan: x, step, decay [N,W], in, out, state, lengths (optional) -> y, last, states before each chunk
enum Input : uint32_t { X, Step, Decay, In, Out, State, Lengths };
// selective_scan_gradient: the first five, states, dy, dLast, lengths (optional)
// -> dx, dStep, dDecay of each sequence, dInto, dOutOf, dState, scratch of the shaders for a chunk
enum GradientInput : uint32_t { States = State, DY, DLast, GradientLengths };

bool hasLengths(const Attributes& attributes) { return attributes.flag("lengths"); }

struct Sizes {
    int64_t B, T, W, N;
    explicit Sizes(std::span<const TensorType> inputs)
        : B(inputs[X].shape[0]), T(inputs[X].shape[1]), W(inputs[X].shape[2]), N(inputs[Decay].shape[0]) {}
    int64_t chunks() const { return (T + kChunk - 1) / kChunk; }
    TensorType rows() const { return {.shape = {B, T, W}}; }
    TensorType small() const { return {.shape = {B, T, N}}; }
    TensorType state() const { return {.shape = {B, N, W}}; }
    TensorType states() const { return {.shape = {B, chunks(), N, W}}; }
};

/// @param count number of inputs without the lengths
void requireSizes(std::span<const TensorType> inputs, uint32_t count, const Attributes& attributes,
                  std::string_view op) {
    requireInputs(inputs, count + (hasLengths(attributes) ? 1 : 0), op);
    requireWhole(inputs, op);
    require(inputs[X].shape.rank() == 3 && inputs[Decay].shape.rank() == 2, op,
            fmt::format("x {} is not [B,T,W] or the decay {} no matrix", inputs[X].shape.text(),
                        inputs[Decay].shape.text()));
    const Sizes sizes(inputs);
    requireShape(inputs[Step], sizes.rows().shape, "the step", op);
    requireShape(inputs[Decay], {sizes.N, sizes.W}, "the decay", op);
    requireShape(inputs[In], sizes.small().shape, "the input matrix", op);
    requireShape(inputs[Out], sizes.small().shape, "the output matrix", op);
    if (hasLengths(attributes)) requireLengths(inputs[count], sizes.B, op);
}

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
    constexpr std::string_view kOp = "selective_scan";
    requireSizes(inputs, Lengths, attributes, kOp);
    const Sizes sizes(inputs);
    requireShape(inputs[State], sizes.state().shape, "the state", kOp);
    return {sizes.rows(), sizes.state(), sizes.states()};
}

/// Computes the states of rows [first, end) from the state before them. @param visit(t, n, w, before, after, keep)
template <typename Visit>
void passRows(const ReferenceCall& call, int64_t b, int64_t first, int64_t end, std::vector<double>& h,
              const Visit& visit) {
    const ReferenceTensor &x = call.inputs[X], &decay = call.inputs[Decay];
    const int64_t T = x.shape[1], W = x.shape[2], N = decay.shape[0];
    for (int64_t t = first; t < end; ++t)
        for (int64_t n = 0; n < N; ++n)
            for (int64_t w = 0; w < W; ++w) {
                const int64_t row = b * T + t;
                const double step = call.inputs[Step].row(row)[w], keep = std::exp(step * decay.row(n)[w]);
                double& state = h[static_cast<size_t>(n * W + w)];
                const double before = state;
                state = keep * before + step * call.inputs[In].row(row)[n] * x.row(row)[w];
                visit(t, n, w, before, state, keep);
            }
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor &y = call.outputs[0], &last = call.outputs[1], &states = call.outputs[2];
    const int64_t B = y.shape[0], T = y.shape[1], W = y.shape[2], N = last.shape[1];
    for (int64_t b = 0; b < B; ++b) {
        const int64_t length = lengthOf(call.inputs, hasLengths(call.attributes) ? Lengths : kAbsent, b, T);
        std::vector<double> h(static_cast<size_t>(N * W));
        const auto copy = [&](const ReferenceTensor& to, int64_t first) {
            for (int64_t n = 0; n < N; ++n) std::copy_n(h.begin() + n * W, W, to.row(first + n));
        };
        for (int64_t n = 0; n < N; ++n) std::copy_n(call.inputs[State].row(b * N + n), W, h.begin() + n * W);
        for (int64_t t = 0; t < T; ++t) {
            if (t % kChunk == 0) copy(states, (b * states.shape[1] + t / kChunk) * N);
            if (t < length)
                passRows(call, b, t, t + 1, h, [&](int64_t, int64_t n, int64_t w, double, double after, double) {
                    y.row(b * T + t)[w] += call.inputs[Out].row(b * T + t)[n] * after;
                });
        }
        copy(last, b * N);
    }
}

/// One launch for each chunk of rows, because each chunk needs the previous one.
std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits&) {
    const Sizes sizes(types.inputs);
    const bool isBounded = hasLengths(types.attributes);
    const int64_t vectors = (sizes.W + 3) / 4;
    const FlatGrid grid(sizes.B * vectors);
    std::vector<Dispatch> list;
    for (int64_t chunk = 0; chunk < sizes.chunks(); ++chunk)
        list.push_back({.shader = "ops/selective_scan",
                        .bindings = {load4(X), load4(Step), load4(Decay), readInput(In), readInput(Out), load4(State),
                                     readIf(isBounded ? uint32_t{Lengths} : kAbsent), writeOutput(0), writeOutput(1),
                                     writeOutput(2)},
                        .push = {u32(sizes.B), u32(vectors), u32(sizes.T), u32(chunk), u32(sizes.chunks()), isBounded},
                        .specialisation = {u32(sizes.N), u32(kChunk)},
                        .x = grid.x,
                        .y = grid.y,
                        .barrierBefore = chunk > 0});
    return list;
}

host::SelectiveScan problemOf(const HostRun& run, const Sizes& sizes, uint32_t lengths) {
    return {.rows = {.B = sizes.B, .T = sizes.T, .W = sizes.W, .lengths = lengthsIn(run, lengths)},
            .N = sizes.N,
            .x = run.inputs[X],
            .step = run.inputs[Step],
            .decay = run.inputs[Decay],
            .in = run.inputs[In],
            .out = run.inputs[Out]};
}

HostKernel hostKernel(const OpTypes& types) {
    return
        [sizes = Sizes(types.inputs), lengths = hasLengths(types.attributes) ? Lengths : kAbsent](const HostRun& run) {
            host::selectiveScan(problemOf(run, sizes, lengths), run.inputs[State], run.outputs[0], run.outputs[1],
                                run.outputs[2], run.pool);
        };
}

/// Per state and row: the decay, its exponential, the input, the sum for the next state, and the sum for the output.
double operations(const OpTypes& types) {
    const Sizes sizes(types.inputs);
    return 8.0 * static_cast<double>(sizes.B * sizes.T * sizes.W) * static_cast<double>(sizes.N);
}
/// The states a second time, then two sums of products per state and the derivatives by the state, the step and the
/// decay.
double operationsGradient(const OpTypes& types) { return 2.5 * operations(types); }

std::vector<Tensor> gradient(const GradientCall& call) {
    std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.begin() + State);
    inputs.insert(inputs.end(), {call.outputs[2], gradientOf(call, 0), gradientOf(call, 1)});
    if (hasLengths(call.attributes)) inputs.push_back(call.inputs[Lengths]);
    const Tensor dx = call.graph.add(kSelectiveScanGradient, inputs, call.attributes);
    const Tensor byDecay = outputOf(dx, 2);
    std::vector<Tensor> result{dx,
                               outputOf(dx, 1),
                               reshape(reduce(byDecay, Reduction::Sum, {0}), call.inputs[Decay].shape()),
                               outputOf(dx, 3),
                               outputOf(dx, 4),
                               outputOf(dx, 5)};
    if (hasLengths(call.attributes)) result.push_back({});
    return result;
}

std::vector<TensorType> inferGradient(std::span<const TensorType> inputs, const Attributes& attributes) {
    constexpr std::string_view kOp = "selective_scan_gradient";
    requireSizes(inputs, GradientLengths, attributes, kOp);
    const Sizes sizes(inputs);
    requireShape(inputs[States], sizes.states().shape, "the states", kOp);
    requireShape(inputs[DY], sizes.rows().shape, "the gradient", kOp);
    return {sizes.rows(),
            sizes.rows(),
            sizes.state(),
            sizes.small(),
            sizes.small(),
            sizes.state(),
            {.shape = {sizes.B, 2 * kChunk, sizes.N, sizes.W}}};
}

void referenceGradient(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[X], &decay = call.inputs[Decay], &states = call.inputs[States];
    const int64_t B = x.shape[0], T = x.shape[1], W = x.shape[2], N = decay.shape[0];
    for (int64_t b = 0; b < B; ++b) {
        const int64_t length = lengthOf(call.inputs, hasLengths(call.attributes) ? GradientLengths : kAbsent, b, T);
        std::vector<double> d(static_cast<size_t>(N * W)), h(d.size());
        for (int64_t n = 0; n < N; ++n) std::copy_n(call.inputs[DLast].row(b * N + n), W, d.begin() + n * W);
        for (int64_t t = length; t-- > 0;) {
            const int64_t chunk = t / kChunk, row = b * T + t;
            for (int64_t n = 0; n < N; ++n)
                std::copy_n(states.row((b * states.shape[1] + chunk) * N + n), W, h.begin() + n * W);
            passRows(call, b, chunk * kChunk, t, h, [](int64_t, int64_t, int64_t, double, double, double) {});
            passRows(call, b, t, t + 1, h,
                     [&](int64_t, int64_t n, int64_t w, double before, double after, double keep) {
                         double& next = d[static_cast<size_t>(n * W + w)];
                         const double step = call.inputs[Step].row(row)[w], in = call.inputs[In].row(row)[n],
                                      dy = call.inputs[DY].row(row)[w], input = x.row(row)[w];
                         const double g = next + call.inputs[Out].row(row)[n] * dy, byPower = g * keep * before;
                         call.outputs[0].row(row)[w] += g * step * in;
                         call.outputs[1].row(row)[w] += g * in * input + byPower * decay.row(n)[w];
                         call.outputs[2].row(b * N + n)[w] += byPower * step;
                         call.outputs[3].row(row)[n] += g * step * input;
                         call.outputs[4].row(row)[n] += dy * after;
                         next = g * keep;
                     });
        }
        for (int64_t n = 0; n < N; ++n) std::copy_n(d.begin() + n * W, W, call.outputs[5].row(b * N + n));
    }
}

/// Two launches for each chunk, from the last to the first: one goes back through the rows, one sums over channels.
std::vector<Dispatch> dispatchGradient(const OpTypes& types, const KernelTraits&) {
    const Sizes sizes(types.inputs);
    const bool isBounded = hasLengths(types.attributes);
    const Binding lengths = readIf(isBounded ? uint32_t{GradientLengths} : kAbsent);
    const int64_t vectors = (sizes.W + 3) / 4;
    const FlatGrid grid(sizes.B * vectors);
    std::vector<Dispatch> list;
    for (int64_t chunk = sizes.chunks(); chunk-- > 0;) {
        const int64_t rows = std::min(kChunk, sizes.T - chunk * kChunk);
        const FlatGrid sums(sizes.B * rows * ((sizes.N + 3) / 4 * 4));
        list.push_back({.shader = "ops/selective_scan_gradient",
                        .bindings = {load4(X), load4(Step), load4(Decay), readInput(In), readInput(Out), load4(States),
                                     load4(DY), load4(DLast), lengths, writeOutput(0), writeOutput(1), writeOutput(2),
                                     writeOutput(5), writeOutput(6)},
                        .push = {u32(sizes.B), u32(vectors), u32(sizes.T), u32(chunk), u32(sizes.chunks()), isBounded},
                        .specialisation = {u32(sizes.N), u32(kChunk)},
                        .x = grid.x,
                        .y = grid.y,
                        .barrierBefore = chunk + 1 < sizes.chunks()});
        list.push_back(
            {.shader = "ops/selective_scan_sums",
             .bindings =
                 {load4(X), load4(Step), load4(DY), {Access::Load4, true, 6}, lengths, writeOutput(3), writeOutput(4)},
             .push = {u32(sizes.B), u32(vectors), u32(sizes.T), u32(chunk * kChunk), u32(rows), u32(sizes.N),
                      u32(kChunk), isBounded},
             .x = sums.x,
             .y = sums.y,
             .barrierBefore = true});
    }
    return list;
}

HostKernel hostGradient(const OpTypes& types) {
    return [sizes = Sizes(types.inputs),
            lengths = hasLengths(types.attributes) ? GradientLengths : kAbsent](const HostRun& run) {
        host::selectiveScanBackward(problemOf(run, sizes, lengths),
                                    {.states = run.inputs[States],
                                     .dy = run.inputs[DY],
                                     .dLast = run.inputs[DLast],
                                     .dx = run.outputs[0],
                                     .dStep = run.outputs[1],
                                     .dDecay = run.outputs[2],
                                     .dInto = run.outputs[3],
                                     .dOutOf = run.outputs[4],
                                     .dState = run.outputs[5]},
                                    run.pool);
    };
}

/// x with zeros in rows that do not count.
Tensor countedRows(const SelectiveScanInputs& in) {
    const int64_t B = in.x.shape()[0], T = in.x.shape()[1];
    const Tensor rows = cumulativeSum(fill(*in.x.graph, {T, 1}, 1), 0, {.exclusive = true}),
                 counts = binary(rows, reshape(toReal(in.lengths), {B, 1, 1}), Binary::Less); // [B,T,1]
    return select(counts, in.x, fill(*in.x.graph, {1}, 0));
}

} // namespace

const Op kSelectiveScan{.name = "selective_scan",
                        .infer = infer,
                        .reference = reference,
                        .dispatch = dispatch,
                        .host = hostKernel,
                        .gradient = gradient,
                        .operations = operations};
const Op kSelectiveScanGradient{.name = "selective_scan_gradient",
                                .infer = inferGradient,
                                .reference = referenceGradient,
                                .dispatch = dispatchGradient,
                                .host = hostGradient,
                                .operations = operationsGradient};

SelectivelyScanned selectiveScan(const SelectiveScanInputs& in) {
    require(in.decay.shape().rank() == 2, "selective_scan",
            fmt::format("the decay {} is not [W,N]", in.decay.shape().text()));
    std::vector<Tensor> inputs{in.x, in.step, permute(in.decay, {1, 0}), in.in, in.out, in.state};
    if (in.lengths) inputs.push_back(in.lengths);
    const Tensor y = in.x.graph->add(kSelectiveScan, inputs, {{"lengths", in.lengths ? 1 : 0}});
    if (!in.skip) return {y, outputOf(y, 1)};
    return {add(y, binary(in.lengths ? countedRows(in) : in.x, in.skip, Binary::Multiply)), outputOf(y, 1)};
}

} // namespace attn
