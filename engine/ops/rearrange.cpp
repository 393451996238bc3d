#include "engine/host/copy.h"
#include "engine/ops/definitions.h"
#include "engine/ops/gradient_ops.h"
#include "engine/ops/host_rows.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"
#include "engine/ops/walk.h"

#include <algorithm>

// Each op here copies regions of one input to its output, element by element in steps, with zeros around them.

namespace attn {
namespace {

/// A part of an output that is filled from one input.
struct Region {
    uint32_t input = 0;
    Shape extents{};              ///< of the part; the last axis counts columns that are copied
    std::vector<int64_t> steps{}; ///< through the input
    int64_t from = 0, to = 0;     ///< where the part starts in the input and in the output, in floats
    int64_t before = 0;           ///< columns of zeros in front of those that are copied
    int64_t written = 0;          ///< columns that are written, including the output's padding
};

/// The walk through the rows of a region, in its input and in the output. @param unit floats
Walk walkOf(const Region& region, const Shape& out, int64_t unit) {
    const std::vector<int64_t> outSteps = stepsOf(out);
    Walk walk{.extents = {region.extents.extents().begin(), region.extents.extents().end() - 1},
              .steps = {{region.steps.begin(), region.steps.end() - 1}, {outSteps.begin(), outSteps.end() - 1}},
              .starts = {region.from / unit, region.to / unit}};
    for (auto& steps : walk.steps)
        for (int64_t& step : steps) step /= unit;
    return walk;
}

/// The regions that make up the output of an op.
using Regions = std::vector<Region> (*)(const OpTypes& types);

template <Regions regionsOf> std::vector<Dispatch> dispatchRegions(const OpTypes& types, const KernelTraits&) {
    std::vector<Dispatch> result;
    for (const Region& region : regionsOf(types)) {
        const auto isMultiple = [](int64_t floats) { return floats % 4 == 0; };
        const bool byVector = types.outputs[0].dtype == DType::F32 && region.steps.back() == 1 &&
                              isMultiple(region.from) && isMultiple(region.to) && isMultiple(region.before) &&
                              isMultiple(region.written) &&
                              std::all_of(region.steps.begin(), region.steps.end() - 1, isMultiple);
        const int64_t unit = byVector ? 4 : 1;
        const bool isWhole = byVector && region.before == 0 && region.extents.columns() == region.written;
        for (RowLaunch& launch : rowLaunches(walkOf(region, types.outputs[0].shape, unit), region.written / unit)) {
            launch.push.insert(launch.push.end(),
                               {u32(region.before / unit), u32(region.extents.columns()), u32(region.written / unit)});
            if (!byVector) launch.push.push_back(u32(region.steps.back()));
            result.push_back({.shader = byVector ? "ops/copy" : "ops/copy_words",
                              .bindings = {byVector ? load4(region.input) : readInput(region.input), writeOutput(0)},
                              .push = launch.push,
                              .specialisation = {launch.grid.lanes, isWhole ? 1u : 0u},
                              .x = launch.grid.x,
                              .y = launch.grid.y,
                              .z = launch.grid.z,
                              .barrierBefore = !result.empty()}); // they write parts of one tensor
        }
    }
    return result;
}

/// The axis whose numbers are adjacent in the input of a region, if it is not the last one; otherwise -1.
int movedAxis(const Region& region) {
    const auto last = static_cast<size_t>(region.extents.rank() - 1);
    if (region.steps[last] <= 1 || region.extents.columns() == 1) return -1;
    for (size_t axis = 0; axis < last; ++axis)
        if (region.steps[axis] == 1 && region.extents[static_cast<int>(axis)] > 1) return static_cast<int>(axis);
    return -1;
}

/// For a region whose last axis is not the last in the input: transposes matrices of that axis and the moved one.
HostKernel hostTransposed(const Region& region, const Shape& out, int axis) {
    Walk others = walkOf(region, out, 1);
    const auto moved = static_cast<size_t>(axis);
    const int64_t toStep = others.steps[1][moved], height = others.extents[moved];
    others.extents[moved] = 1;
    constexpr int64_t kHeight = 64; // rows of a task
    const int64_t strips = (height + kHeight - 1) / kHeight;
    return [=, matrices = HostRows<2>(others)](const HostRun& run) {
        run.pool.ranges(matrices.rows() * strips, kVectorsForThread / (kHeight * region.written / 4 + 1) + 1, 1,
                        [&](int64_t begin, int64_t end) {
                            for (int64_t i = begin; i < end; ++i) {
                                const auto [from, to] = matrices.offsetsOf(i / strips);
                                const int64_t first = i % strips * kHeight, rows = std::min(kHeight, height - first);
                                float* target = run.outputs[0] + to + first * toStep;
                                host::transpose(rows, region.extents.columns(), run.inputs[region.input] + from + first,
                                                region.steps.back(), target, toStep);
                                for (int64_t row = 0; row < rows; ++row)
                                    std::fill(target + row * toStep + region.extents.columns(),
                                              target + row * toStep + region.written, 0.0f);
                            }
                        });
    };
}

template <Regions regionsOf> HostKernel hostRegions(const OpTypes& types) {
    std::vector<HostKernel> parts;
    for (const Region& region : regionsOf(types)) {
        const Shape& out = types.outputs[0].shape;
        if (const int axis = movedAxis(region); axis >= 0 && region.before == 0) {
            parts.push_back(hostTransposed(region, out, axis));
            continue;
        }
        const host::CopiedRow row{.before = region.before,
                                  .columns = region.extents.columns(),
                                  .written = region.written,
                                  .step = region.steps.back()};
        parts.emplace_back([=, input = region.input, rows = HostRows<2>(walkOf(region, out, 1))](const HostRun& run) {
            rows.run(run.pool, rowsForThread(out), [&](std::array<int64_t, 2> at, int64_t count) {
                host::copyRows(row, count, run.inputs[input] + at[0], rows.steps()[0], run.outputs[0] + at[1],
                               rows.steps()[1]);
            });
        });
    }
    return [parts](const HostRun& run) {
        for (const HostKernel& part : parts) part(run);
    };
}

/// The part of `shape` that has `extent` indices of one axis.
Shape withExtent(const Shape& shape, int axis, int64_t extent) {
    std::vector<int64_t> extents = shape.extents();
    extents[static_cast<size_t>(axis)] = extent;
    return Shape(extents);
}

int axisAttribute(const Attributes& attributes) { return static_cast<int>(attributes.integer("axis")); }

/// Copies one element per index of `extents`, with steps through the input and through the output.
void copyElements(const Shape& extents, const double* from, const std::vector<int64_t>& steps,
                  const ReferenceTensor& out, int64_t to) {
    const std::vector<int64_t> outSteps = stepsOf(out.shape);
    forEachIndex(extents, [&](const std::vector<int64_t>& index) {
        out.data[to + offsetOf(outSteps, index)] = from[offsetOf(steps, index)];
    });
}

// permute ------------------------------------------------------------------------------------------------------------

std::vector<int64_t> permuted(const std::vector<int64_t>& list, const Shape& order) {
    std::vector<int64_t> result;
    for (int64_t axis : order.extents()) result.push_back(list[static_cast<size_t>(axis)]);
    return result;
}

std::vector<TensorType> inferPermute(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, 1, "permute");
    requireWhole(inputs, "permute");
    const Shape order = shapeOf(attributes);
    std::vector<int64_t> sorted = order.extents();
    std::ranges::sort(sorted);
    bool isOrder = order.rank() == inputs[0].shape.rank();
    for (int axis = 0; axis < order.rank(); ++axis) isOrder = isOrder && sorted[static_cast<size_t>(axis)] == axis;
    require(isOrder, "permute",
            fmt::format("{} is not an order of the axes of {}", order.text(), inputs[0].shape.text()));
    return {{.shape = Shape(permuted(inputs[0].shape.extents(), order)), .dtype = inputs[0].dtype}};
}

void referencePermute(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &y = call.outputs[0];
    copyElements(y.shape, x.data, permuted(stepsOf(x.shape), shapeOf(call.attributes)), y, 0);
}

std::vector<Region> regionsOfPermute(const OpTypes& types) {
    const Shape& out = types.outputs[0].shape;
    return {{.extents = out,
             .steps = permuted(stepsOf(types.inputs[0].shape), shapeOf(types.attributes)),
             .written = out.rowStride()}};
}

/// If only axes inside one row move, the numbers stay in place.
int aliasPermute(const OpTypes& types, uint32_t) {
    const Shape &in = types.inputs[0].shape, &out = types.outputs[0].shape, order = shapeOf(types.attributes);
    std::vector<int64_t> moved;
    for (const int64_t axis : order.extents())
        if (in[static_cast<int>(axis)] != 1) moved.push_back(axis);
    const bool bothUnpadded = in.columns() % 4 == 0 && out.columns() % 4 == 0;
    return std::ranges::is_sorted(moved) && (bothUnpadded || in.columns() == out.columns()) ? 0 : -1;
}

std::vector<Tensor> gradientPermute(const GradientCall& call) {
    const Shape order = shapeOf(call.attributes);
    std::vector<int> inverse(static_cast<size_t>(order.rank()));
    for (int axis = 0; axis < order.rank(); ++axis) inverse[static_cast<size_t>(order[axis])] = axis;
    return {permute(call.outputGradients[0], inverse)};
}

// slice --------------------------------------------------------------------------------------------------------------

std::vector<TensorType> inferSlice(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, 1, "slice");
    requireWhole(inputs, "slice");
    const int axis = axisAttribute(attributes);
    const int64_t begin = attributes.integer("begin"), length = attributes.integer("length");
    require(begin >= 0 && length >= 1 && begin + length <= inputs[0].shape[axis], "slice",
            fmt::format("indices {} to {} of axis {} are not all within {}", begin, begin + length - 1, axis,
                        inputs[0].shape.text()));
    return {{.shape = withExtent(inputs[0].shape, axis, length), .dtype = inputs[0].dtype}};
}

int64_t sliceStart(const Shape& x, const Attributes& attributes) {
    return attributes.integer("begin") * stepsOf(x)[static_cast<size_t>(axisAttribute(attributes))];
}

/// Whether parts along an axis are adjacent in memory: every axis before it has one index, and it is not the last.
bool liesInPieces(const Shape& x, int axis) {
    return axis != x.rank() - 1 && std::ranges::all_of(x.extents().begin(), x.extents().begin() + axis,
                                                       [](int64_t extent) { return extent == 1; });
}

int aliasSlice(const OpTypes& types, uint32_t) {
    return liesInPieces(types.inputs[0].shape, axisAttribute(types.attributes)) ? 0 : -1;
}
int64_t beginOfSlice(const OpTypes& types) { return sliceStart(types.inputs[0].shape, types.attributes); }

void referenceSlice(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &y = call.outputs[0];
    copyElements(y.shape, x.data + sliceStart(x.shape, call.attributes), stepsOf(x.shape), y, 0);
}

std::vector<Region> regionsOfSlice(const OpTypes& types) {
    const Shape &x = types.inputs[0].shape, &out = types.outputs[0].shape;
    return {{.extents = out, .steps = stepsOf(x), .from = sliceStart(x, types.attributes), .written = out.rowStride()}};
}

std::vector<Tensor> gradientSlice(const GradientCall& call) {
    const int axis = axisAttribute(call.attributes);
    const int64_t begin = call.attributes.integer("begin"), length = call.attributes.integer("length"),
                  whole = call.inputs[0].shape()[axis];
    return {pad(call.outputGradients[0], axis, begin, whole - begin - length)};
}

// pad ----------------------------------------------------------------------------------------------------------------

std::vector<TensorType> inferPad(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, 1, "pad");
    requireWhole(inputs, "pad");
    const int axis = axisAttribute(attributes);
    const int64_t before = attributes.integer("before"), after = attributes.integer("after");
    require(before >= 0 && after >= 0, "pad", fmt::format("cannot add {} and {} zeros", before, after));
    return {
        {.shape = withExtent(inputs[0].shape, axis, inputs[0].shape[axis] + before + after), .dtype = inputs[0].dtype}};
}

void referencePad(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &y = call.outputs[0];
    const auto axis = static_cast<size_t>(axisAttribute(call.attributes));
    copyElements(x.shape, x.data, stepsOf(x.shape), y, call.attributes.integer("before") * stepsOf(y.shape)[axis]);
}

std::vector<Region> regionsOfPad(const OpTypes& types) {
    const Shape &x = types.inputs[0].shape, &out = types.outputs[0].shape;
    const int axis = axisAttribute(types.attributes);
    const int64_t before = types.attributes.integer("before"), after = types.attributes.integer("after");
    if (axis == out.rank() - 1)
        return {{.extents = x, .steps = stepsOf(x), .before = before, .written = out.rowStride()}};
    const int64_t step = stepsOf(out)[static_cast<size_t>(axis)];
    std::vector<int64_t> standing(static_cast<size_t>(out.rank()), 0); // at one element, of which nothing is copied
    standing.back() = 1;
    const auto zeros = [&](int64_t first, int64_t count) {
        return Region{.extents = withExtent(withExtent(out, axis, count), out.rank() - 1, 0),
                      .steps = standing,
                      .to = first * step,
                      .written = out.rowStride()};
    };
    std::vector<Region> regions{{.extents = x, .steps = stepsOf(x), .to = before * step, .written = out.rowStride()}};
    if (before > 0) regions.push_back(zeros(0, before));
    if (after > 0) regions.push_back(zeros(before + x[axis], after));
    return regions;
}

std::vector<Tensor> gradientPad(const GradientCall& call) {
    const int axis = axisAttribute(call.attributes);
    return {slice(call.outputGradients[0], axis, call.attributes.integer("before"), call.inputs[0].shape()[axis])};
}

// concatenate --------------------------------------------------------------------------------------------------------

std::vector<TensorType> inferConcatenate(std::span<const TensorType> inputs, const Attributes& attributes) {
    require(!inputs.empty(), "concatenate", "needs at least one tensor");
    requireWhole(inputs, "concatenate");
    const int axis = axisAttribute(attributes);
    int64_t extent = 0;
    for (const TensorType& input : inputs) {
        require(
            input.dtype == inputs[0].dtype && input.shape.rank() == inputs[0].shape.rank() &&
                withExtent(input.shape, axis, 1) == withExtent(inputs[0].shape, axis, 1),
            "concatenate",
            fmt::format("{} and {} must agree except on axis {}", inputs[0].shape.text(), input.shape.text(), axis));
        extent += input.shape[axis];
    }
    return {{.shape = withExtent(inputs[0].shape, axis, extent), .dtype = inputs[0].dtype}};
}

int64_t placeInConcatenate(const OpTypes& types, uint32_t input) {
    const Shape& out = types.outputs[0].shape;
    const int axis = axisAttribute(types.attributes);
    if (!liesInPieces(out, axis)) return -1;
    int64_t at = 0;
    for (uint32_t i = 0; i < input; ++i) at += types.inputs[i].shape[axis];
    return at * stepsOf(out)[static_cast<size_t>(axis)];
}

void referenceConcatenate(const ReferenceCall& call) {
    const ReferenceTensor& y = call.outputs[0];
    const int axis = axisAttribute(call.attributes);
    int64_t at = 0;
    for (const ReferenceTensor& x : call.inputs) {
        copyElements(x.shape, x.data, stepsOf(x.shape), y, at * stepsOf(y.shape)[static_cast<size_t>(axis)]);
        at += x.shape[axis];
    }
}

std::vector<Region> regionsOfConcatenate(const OpTypes& types) {
    const Shape& out = types.outputs[0].shape;
    const int axis = axisAttribute(types.attributes);
    const bool isLastAxis = axis == out.rank() - 1;
    std::vector<Region> regions;
    int64_t at = 0;
    for (uint32_t input = 0; input < types.inputs.size(); ++input) {
        const Shape& x = types.inputs[input].shape;
        const bool endsRow = !isLastAxis || input + 1 == types.inputs.size();
        const int64_t column = isLastAxis ? at : 0;
        regions.push_back({.input = input,
                           .extents = x,
                           .steps = stepsOf(x),
                           .to = at * stepsOf(out)[static_cast<size_t>(axis)],
                           .written = endsRow ? out.rowStride() - column : x.columns()});
        at += x[axis];
    }
    return regions;
}

std::vector<Tensor> gradientConcatenate(const GradientCall& call) {
    const int axis = axisAttribute(call.attributes);
    std::vector<Tensor> result;
    int64_t at = 0;
    for (const Tensor& input : call.inputs) {
        const int64_t extent = input.shape()[axis];
        result.push_back(slice(call.outputGradients[0], axis, at, extent));
        at += extent;
    }
    return result;
}

// broadcast ----------------------------------------------------------------------------------------------------------

std::vector<TensorType> inferBroadcast(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, 1, "broadcast");
    requireWhole(inputs, "broadcast");
    const Shape shape = shapeOf(attributes);
    require(broadcastShape(inputs[0].shape, shape, "broadcast") == shape, "broadcast",
            fmt::format("{} cannot be repeated to {}", inputs[0].shape.text(), shape.text()));
    return {{.shape = shape, .dtype = inputs[0].dtype}};
}

void referenceBroadcast(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &y = call.outputs[0];
    copyElements(y.shape, x.data, broadcastSteps(x.shape, y.shape), y, 0);
}

std::vector<Region> regionsOfBroadcast(const OpTypes& types) {
    const Shape& out = types.outputs[0].shape;
    return {{.extents = out, .steps = broadcastSteps(types.inputs[0].shape, out), .written = out.rowStride()}};
}

std::vector<Tensor> gradientBroadcast(const GradientCall& call) {
    return {sumTo(call.outputGradients[0], call.inputs[0].shape())};
}

} // namespace

const Op kPermute{.name = "permute",
                  .infer = inferPermute,
                  .reference = referencePermute,
                  .dispatch = dispatchRegions<regionsOfPermute>,
                  .host = hostRegions<regionsOfPermute>,
                  .aliasOf = aliasPermute,
                  .gradient = gradientPermute,
                  .operations = noOperations};
const Op kSlice{.name = "slice",
                .infer = inferSlice,
                .reference = referenceSlice,
                .dispatch = dispatchRegions<regionsOfSlice>,
                .host = hostRegions<regionsOfSlice>,
                .aliasOf = aliasSlice,
                .aliasBegin = beginOfSlice,
                .gradient = gradientSlice,
                .operations = noOperations};
const Op kPad{.name = "pad",
              .infer = inferPad,
              .reference = referencePad,
              .dispatch = dispatchRegions<regionsOfPad>,
              .host = hostRegions<regionsOfPad>,
              .gradient = gradientPad,
              .operations = noOperations};
const Op kConcatenate{.name = "concatenate",
                      .infer = inferConcatenate,
                      .reference = referenceConcatenate,
                      .dispatch = dispatchRegions<regionsOfConcatenate>,
                      .host = hostRegions<regionsOfConcatenate>,
                      .placeOf = placeInConcatenate,
                      .gradient = gradientConcatenate,
                      .operations = noOperations};
const Op kBroadcast{.name = "broadcast",
                    .infer = inferBroadcast,
                    .reference = referenceBroadcast,
                    .dispatch = dispatchRegions<regionsOfBroadcast>,
                    .host = hostRegions<regionsOfBroadcast>,
                    .gradient = gradientBroadcast,
                    .operations = noOperations};

Tensor permute(Tensor x, std::vector<int> order) {
    std::vector<int64_t> axes;
    for (int axis : order) axes.push_back(axisOf(axis, x.shape().rank(), "permute"));
    return x.graph->add(kPermute, {x}, shapeAttributes(Shape(axes)));
}

Tensor slice(Tensor x, int axis, int64_t begin, int64_t length) {
    axis = axisOf(axis, x.shape().rank(), "slice");
    if (begin == 0 && length == x.shape()[axis]) return x;
    return x.graph->add(
        kSlice, {x}, {{"axis", axis}, {"begin", static_cast<double>(begin)}, {"length", static_cast<double>(length)}});
}

Tensor pad(Tensor x, int axis, int64_t before, int64_t after) {
    axis = axisOf(axis, x.shape().rank(), "pad");
    if (before == 0 && after == 0) return x;
    return x.graph->add(
        kPad, {x}, {{"axis", axis}, {"before", static_cast<double>(before)}, {"after", static_cast<double>(after)}});
}

Tensor concatenate(std::span<const Tensor> tensors, int axis) {
    require(!tensors.empty(), "concatenate", "needs at least one tensor");
    axis = axisOf(axis, tensors[0].shape().rank(), "concatenate");
    return tensors[0].graph->add(kConcatenate, {tensors.begin(), tensors.end()}, {{"axis", axis}});
}

Tensor broadcast(Tensor x, Shape shape) {
    if (x.shape() == shape) return x;
    return x.graph->add(kBroadcast, {x}, shapeAttributes(shape));
}

} // namespace attn
