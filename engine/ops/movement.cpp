#include "engine/host/pool.h"
#include "engine/ops/definitions.h"
#include "engine/ops/ops.h"
#include "engine/ops/rules.h"
#include "engine/ops/walk.h"

#include <algorithm>

namespace attn {
namespace {

// lastRow ------------------------------------------------------------------------------------------------------------

std::vector<TensorType> inferLastRow(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "last_row");
    require(inputs[0].shape.rank() == 2, "last_row", fmt::format("{} must be [T,C]", inputs[0].shape.text()));
    return {{.shape = {1, inputs[0].shape[1]}}};
}

int64_t lastRowIndex(const TensorType& x, const StepParams& step) {
    return x.liveRows ? std::clamp<int64_t>(step[*x.liveRows], 1, x.shape[0]) - 1 : x.shape[0] - 1;
}

void referenceLastRow(const ReferenceCall& call) {
    const auto slot = static_cast<uint32_t>(call.attributes.integer("liveSlot"));
    TensorType type{.shape = call.inputs[0].shape};
    if (slot != kNoLiveSlot) type.liveRows = static_cast<StepScalar>(slot);
    std::copy_n(call.inputs[0].row(lastRowIndex(type, call.step)), call.inputs[0].columns(), call.outputs[0].data);
}

std::vector<Dispatch> dispatchLastRow(const OpTypes& types, const KernelTraits&) {
    const TensorType& x = types.inputs[0];
    const int64_t vectors = x.shape.rowStride() / 4;
    return {{.shader = "ops/last_row",
             .bindings = {load4(0), writeOutput(0)},
             .push = {u32(x.shape[0]), u32(vectors), liveSlot(x)},
             .x = GridAxis::fixed(u32((vectors + 63) / 64))}};
}

HostKernel hostLastRow(const OpTypes& types) {
    return [x = types.inputs[0]](const HostRun& run) {
        const int64_t stride = x.shape.rowStride();
        std::copy_n(run.inputs[0] + lastRowIndex(x, run.step) * stride, stride, run.outputs[0]);
    };
}

// reshape ------------------------------------------------------------------------------------------------------------

std::vector<TensorType> inferReshape(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, 1, "reshape");
    TensorType out{.shape = shapeOf(attributes), .dtype = inputs[0].dtype};
    require(out.shape.elements() == inputs[0].shape.elements(), "reshape",
            fmt::format("{} and {} differ in size", inputs[0].shape.text(), out.shape.text()));
    if (inputs[0].liveRows) {
        require(out.shape[0] == inputs[0].shape[0], "reshape", "axis 0 has a live length and must keep its extent");
        out.liveRows = inputs[0].liveRows;
    }
    return {out};
}

int aliasReshape(const OpTypes& types, uint32_t) {
    const Shape &in = types.inputs[0].shape, &out = types.outputs[0].shape;
    const bool bothUnpadded = in.columns() % 4 == 0 && out.columns() % 4 == 0;
    return bothUnpadded || in.columns() == out.columns() ? 0 : -1;
}

void referenceReshape(const ReferenceCall& call) {
    const ReferenceTensor &in = call.inputs[0], &out = call.outputs[0];
    for (int64_t i = 0; i < in.shape.elements(); ++i)
        out.row(i / out.columns())[i % out.columns()] = in.row(i / in.columns())[i % in.columns()];
}

std::vector<Dispatch> dispatchReshape(const OpTypes& types, const KernelTraits&) {
    const Shape &in = types.inputs[0].shape, &out = types.outputs[0].shape;
    return {{.shader = "ops/reshape",
             .bindings = {readInput(0), writeOutput(0)},
             .push = {u32(in.columns()), u32(in.rowStride()), u32(out.columns()), u32(out.rowStride()),
                      u32(out.paddedElements())},
             .x = FlatGrid(out.paddedElements()).x,
             .y = FlatGrid(out.paddedElements()).y}};
}

HostKernel hostReshape(const OpTypes& types) {
    return [in = types.inputs[0], out = types.outputs[0].shape](const HostRun& run) {
        const int64_t last = liveRowsOf(in, run.step) * in.shape.columns();
        run.pool.ranges(out.rows(), rowsForThread(out), 1, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                float* to = run.outputs[0] + row * out.rowStride();
                std::fill_n(to, out.rowStride(), 0.0f);
                // Pieces that lie within a row on both sides.
                const int64_t stop = std::min((row + 1) * out.columns(), last);
                for (int64_t i = row * out.columns(); i < stop;) {
                    const int64_t column = i % in.shape.columns(),
                                  count = std::min(in.shape.columns() - column, stop - i);
                    std::copy_n(run.inputs[0] + i / in.shape.columns() * in.shape.rowStride() + column, count,
                                to + i % out.columns());
                    i += count;
                }
            }
        });
    };
}

// assign -------------------------------------------------------------------------------------------------------------

std::vector<TensorType> inferAssign(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 2, "assign");
    const Shape &state = inputs[0].shape, &value = inputs[1].shape;
    require(state.rank() == value.rank() && inputs[0].dtype == inputs[1].dtype && unitOf(state) == unitOf(value) &&
                value[0] <= state[0],
            "assign", fmt::format("{} does not fit into rows of {}", value.text(), state.text()));
    return {inputs[0]};
}

int aliasAssign(const OpTypes&, uint32_t) { return 0; }

void referenceAssign(const ReferenceCall& call) {
    const ReferenceTensor &value = call.inputs[1], &state = call.outputs[0];
    const int64_t unit = unitOf(value.shape), at = call.step.words[static_cast<size_t>(call.attributes.integer("at"))];
    const auto slot = static_cast<size_t>(call.attributes.integer("liveSlot"));
    const int64_t live =
        slot == kNoLiveSlot ? value.shape[0] : std::min<int64_t>(call.step.words[slot], value.shape[0]);
    const int64_t rows = std::clamp<int64_t>(state.shape[0] - at, 0, live);
    std::copy_n(value.data, rows * unit, state.data + at * unit);
}

std::vector<Dispatch> dispatchAssign(const OpTypes& types, const KernelTraits&) {
    const TensorType& value = types.inputs[1];
    const int64_t unit = unitOf(value.shape), total = value.shape[0] * unit;
    return {{.shader = "ops/assign",
             .bindings = {readInput(1), writeOutput(0)},
             .push = {u32(value.shape[0]), u32(unit), u32(types.inputs[0].shape[0]),
                      u32(types.attributes.integer("at")), liveSlot(value)},
             .x = repeatedGrid(total, 64, 1)}};
}

HostKernel hostAssign(const OpTypes& types) {
    const auto at = static_cast<size_t>(types.attributes.integer("at"));
    return [at, state = types.inputs[0].shape, value = types.inputs[1]](const HostRun& run) {
        const int64_t unit = unitOf(value.shape), first = run.step.words[at];
        const int64_t live =
            value.liveRows ? std::min<int64_t>(run.step[*value.liveRows], value.shape[0]) : value.shape[0];
        const int64_t rows = std::clamp<int64_t>(state[0] - first, 0, live);
        run.pool.ranges(rows, kVectorsForThread * 4 / std::max<int64_t>(unit, 1) + 1, 1,
                        [&](int64_t begin, int64_t end) {
                            std::copy(run.inputs[1] + begin * unit, run.inputs[1] + end * unit,
                                      run.outputs[0] + (first + begin) * unit);
                        });
    };
}

std::vector<Tensor> gradientReshape(const GradientCall& call) {
    return {reshape(call.outputGradients[0], call.inputs[0].shape())};
}

double liveAttribute(Tensor x) { return liveSlot(x.type()); }

} // namespace

const Op kLastRow{.name = "last_row",
                  .infer = inferLastRow,
                  .reference = referenceLastRow,
                  .dispatch = dispatchLastRow,
                  .host = hostLastRow,
                  .operations = noOperations};
const Op kReshape{.name = "reshape",
                  .infer = inferReshape,
                  .reference = referenceReshape,
                  .dispatch = dispatchReshape,
                  .host = hostReshape,
                  .aliasOf = aliasReshape,
                  .gradient = gradientReshape,
                  .operations = noOperations};
const Op kAssign{.name = "assign",
                 .infer = inferAssign,
                 .reference = referenceAssign,
                 .dispatch = dispatchAssign,
                 .host = hostAssign,
                 .aliasOf = aliasAssign,
                 .writesInPlace = true,
                 .operations = noOperations};

Tensor lastRow(Tensor x) { return x.graph->add(kLastRow, {x}, {{"liveSlot", liveAttribute(x)}}); }

Tensor reshape(Tensor x, Shape shape) {
    if (x.shape() == shape) return x;
    return x.graph->add(kReshape, {x}, shapeAttributes(shape));
}

Tensor assign(Tensor state, Tensor value, StepScalar at) {
    return state.graph->add(kAssign, {state, value},
                            {{"at", static_cast<double>(at)}, {"liveSlot", liveAttribute(value)}});
}

} // namespace attn
