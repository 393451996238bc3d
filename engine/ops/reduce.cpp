#include "engine/host/reduce.h"
#include "engine/host/pool.h"
#include "engine/ops/definitions.h"
#include "engine/ops/gradient_ops.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"
#include "engine/ops/walk.h"

#include <algorithm>
#include <limits>

namespace attn {
namespace {

/// The sizes for a kernel of strips.glsl that runs along axes [first, end), all before the last.
struct Strips {
    int64_t outer, strip, vectors;
    Strips(const Shape& shape, int first, int end)
        : outer(extentOf(shape, 0, first)), strip(extentOf(shape, first, end)),
          vectors(extentOf(shape, end, shape.rank() - 1) * shape.rowStride() / 4) {}
};

/// A long strip is summed in segments first. This uses more lanes, and the error of one sum grows with its length.
constexpr int64_t kSegment = 256;
bool hasSegments(const Strips& strips) { return strips.strip > 2 * kSegment; }

constexpr uint32_t kRowsPerGroup = 4; // for kernels with one subgroup per row

// reduce: over adjacent axes [first, end); for long axes it also returns the sums of segments ------------------------

struct Axes {
    int first, end;
    explicit Axes(const Attributes& attributes)
        : first(static_cast<int>(attributes.integer("first"))), end(static_cast<int>(attributes.integer("end"))) {}
};

std::vector<TensorType> inferReduce(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, 1, "reduce");
    requireWhole(inputs, "reduce");
    require(inputs[0].dtype == DType::F32, "reduce", "integers must be converted to real numbers first");
    const Axes axes(attributes);
    std::vector<int64_t> extents = inputs[0].shape.extents();
    std::fill(extents.begin() + axes.first, extents.begin() + axes.end, 1);
    const TensorType result{.shape = Shape(extents)};
    if (axes.end == inputs[0].shape.rank()) return {result};
    const Strips strips(inputs[0].shape, axes.first, axes.end);
    if (!hasSegments(strips)) return {result};
    extents[static_cast<size_t>(axes.first)] = (strips.strip + kSegment - 1) / kSegment;
    return {result, {.shape = Shape(extents)}};
}

void referenceReduce(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &y = call.outputs[0];
    const bool isMaximum = call.attributes.flag("isMaximum");
    const std::vector<int64_t> from = stepsOf(x.shape), to = broadcastSteps(y.shape, x.shape);
    if (isMaximum) forEach(y, [](int64_t, int64_t) { return -std::numeric_limits<double>::infinity(); });
    forEachIndex(x.shape, [&](const std::vector<int64_t>& index) {
        double& result = y.data[offsetOf(to, index)];
        const double value = x.data[offsetOf(from, index)];
        result = isMaximum ? std::max(result, value) : result + value;
    });
    forEach(y, [&](int64_t row, int64_t column) { return y.row(row)[column] * call.attributes.number("factor"); });
}

std::vector<Dispatch> dispatchReduce(const OpTypes& types, const KernelTraits& traits) {
    const Shape &x = types.inputs[0].shape, &y = types.outputs[0].shape;
    const bool isMaximum = types.attributes.flag("isMaximum");
    const uint32_t factor = pushFloat(types.attributes.number("factor")), maximum = isMaximum ? 1 : 0;
    const Axes axes(types.attributes);
    if (axes.end < x.rank()) {
        const Strips strips(x, axes.first, axes.end);
        const auto launch = [&](Binding from, uint32_t to, int64_t strip, int64_t segments, uint32_t lastFactor) {
            const int64_t outer = strips.outer * segments, length = segments == 1 ? strip : kSegment;
            return Dispatch{
                .shader = "ops/reduce_strips",
                .bindings = {from, writeOutput(to)},
                .push = {u32(outer), u32(strip), u32(strips.vectors), u32(segments), u32(length), lastFactor},
                .specialisation = {maximum},
                .x = repeatedGrid(strips.vectors, 8),
                .y = repeatedGrid(outer, 8),
                .barrierBefore = from.isOutput};
        };
        if (!hasSegments(strips)) return {launch(load4(0), 0, strips.strip, 1, factor)};
        const int64_t segments = types.outputs[1].shape[axes.first];
        return {launch(load4(0), 1, strips.strip, segments, pushFloat(1)),
                launch({Access::Load4, true, 1}, 0, segments, 1, factor)};
    }
    // Padding is zero and does not change a sum, so all lines of a result count as one.
    const int64_t results = y.rows(), lines = x.rows() / results, vectors = x.rowStride() / 4;
    const bool isShort = lines * vectors <= 16; // one invocation per result instead of one subgroup
    return {{.shader = "ops/reduce_rows",
             .bindings = {load4(0), writeOutput(0)},
             .push = {u32(results), isMaximum ? u32(lines) : 1, u32(isMaximum ? vectors : lines * vectors),
                      u32(x.columns()), factor},
             .specialisation = {traits.subgroupSize, kRowsPerGroup, maximum, isShort ? 1u : 0u},
             .x = repeatedGrid(results, kRowsPerGroup * (isShort ? traits.subgroupSize : 1))}};
}

/// Threads share strips, and the columns of strips if there are few.
/// @param kernel called as kernel(first float of x, of y, begin, end)  @param ySize floats of y for each strip
template <typename Kernel>
void overStrips(const HostRun& run, const Strips& strips, int64_t ySize, const Kernel& kernel) {
    const int64_t floats = strips.vectors * 4, work = strips.strip * floats;
    const auto one = [&](int64_t outer, int64_t begin, int64_t end) {
        kernel(run.inputs[0] + outer * work, run.outputs[0] + outer * ySize, begin, end);
    };
    if (strips.outer >= run.pool.threads())
        return run.pool.ranges(strips.outer, kVectorsForThread * 4 / work + 1, 1, [&](int64_t begin, int64_t end) {
            for (int64_t outer = begin; outer < end; ++outer) one(outer, 0, floats);
        });
    for (int64_t outer = 0; outer < strips.outer; ++outer)
        run.pool.ranges(floats, std::max<int64_t>(kVectorsForThread * 4 / strips.strip, 16), 16,
                        [&](int64_t begin, int64_t end) { one(outer, begin, end); });
}

HostKernel hostReduce(const OpTypes& types) {
    const Shape x = types.inputs[0].shape, y = types.outputs[0].shape;
    const bool isMaximum = types.attributes.flag("isMaximum");
    const auto factor = static_cast<float>(types.attributes.number("factor"));
    const Axes axes(types.attributes);
    if (axes.end < x.rank()) {
        const Strips strips(x, axes.first, axes.end);
        const host::Strip strip{
            .strip = strips.strip, .stride = strips.vectors * 4, .isMaximum = isMaximum, .factor = factor};
        return [=](const HostRun& run) {
            overStrips(run, strips, strip.stride, [&](const float* from, float* to, int64_t begin, int64_t end) {
                host::reduceStrip(strip, begin, end, from, to);
            });
        };
    }
    return [=](const HostRun& run) {
        const int64_t lines = x.rows() / y.rows(), size = lines * x.rowStride();
        run.pool.ranges(y.rows(), kVectorsForThread * 4 / size + 1, 1, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                float* to = run.outputs[0] + row * y.rowStride();
                *to = factor * host::reduceLines(isMaximum, lines, x.columns(), run.inputs[0] + row * size);
                std::fill(to + 1, to + y.rowStride(), 0.0f);
            }
        });
    };
}

std::vector<Tensor> gradientReduce(const GradientCall& call) {
    const Tensor x = call.inputs[0], y = call.outputs[0], d = call.outputGradients[0];
    if (!call.attributes.flag("isMaximum")) return {broadcast(scale(d, call.attributes.number("factor")), x.shape())};
    const Axes axes(call.attributes);
    std::vector<int> reduced;
    for (int axis = axes.first; axis < axes.end; ++axis) reduced.push_back(axis);
    const Tensor isLargest = binary(x, y, Binary::Equal);
    const Tensor share = binary(d, reduce(isLargest, Reduction::Sum, reduced), Binary::Divide);
    return {multiply(isLargest, share)};
}

// cumulative_sum -----------------------------------------------------------------------------------------------------

std::vector<TensorType> inferCumulative(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "cumulative_sum");
    requireWhole(inputs, "cumulative_sum");
    require(inputs[0].dtype == DType::F32, "cumulative_sum", "integers must be converted to real numbers first");
    return {inputs[0]};
}

void referenceCumulative(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &y = call.outputs[0];
    const auto axis = static_cast<size_t>(call.attributes.integer("axis"));
    const bool isExclusive = call.attributes.flag("isExclusive"), isReverse = call.attributes.flag("isReverse");
    const std::vector<int64_t> steps = stepsOf(x.shape);
    std::vector<int64_t> lineExtents = x.shape.extents();
    const int64_t length = lineExtents[axis];
    lineExtents[axis] = 1;
    forEachIndex(Shape(lineExtents), [&](const std::vector<int64_t>& first) {
        double sum = 0;
        for (int64_t i = 0; i < length; ++i) {
            const int64_t at = offsetOf(steps, first) + (isReverse ? length - 1 - i : i) * steps[axis];
            y.data[at] = sum + (isExclusive ? 0 : x.data[at]);
            sum += x.data[at];
        }
    });
}

std::vector<Dispatch> dispatchCumulative(const OpTypes& types, const KernelTraits& traits) {
    const Shape& x = types.inputs[0].shape;
    const int axis = static_cast<int>(types.attributes.integer("axis"));
    const uint32_t exclusive = types.attributes.flag("isExclusive") ? 1 : 0,
                   reverse = types.attributes.flag("isReverse") ? 1 : 0;
    if (axis + 1 < x.rank()) {
        constexpr int64_t kLongest = 32768;
        const Strips strips(x, axis, axis + 1);
        std::vector<Dispatch> result;
        for (int64_t first = 0; first < strips.strip; first += kLongest)
            result.push_back({.shader = "ops/cumulative_strips",
                              .bindings = {load4(0), writeOutput(0)},
                              .push = {u32(strips.outer), u32(strips.strip), u32(strips.vectors), u32(first),
                                       u32(std::min(first + kLongest, strips.strip)), exclusive, reverse},
                              .x = repeatedGrid(strips.vectors, 8),
                              .y = repeatedGrid(strips.outer, 8),
                              .barrierBefore = first > 0});
        return result;
    }
    return {{.shader = "ops/cumulative_rows",
             .bindings = {load4(0), writeOutput(0)},
             .push = {u32(x.rows()), u32(x.columns()), exclusive, reverse},
             .specialisation = {traits.subgroupSize, kRowsPerGroup},
             .x = repeatedGrid(x.rows(), kRowsPerGroup)}};
}

HostKernel hostCumulative(const OpTypes& types) {
    const Shape x = types.inputs[0].shape;
    const int axis = static_cast<int>(types.attributes.integer("axis"));
    const host::Cumulative how{.isExclusive = types.attributes.flag("isExclusive"),
                               .isReverse = types.attributes.flag("isReverse")};
    if (axis + 1 < x.rank())
        return [=, strips = Strips(x, axis, axis + 1)](const HostRun& run) {
            const int64_t stride = strips.vectors * 4;
            overStrips(run, strips, strips.strip * stride,
                       [&](const float* from, float* to, int64_t begin, int64_t end) {
                           host::cumulateStrip(how, strips.strip, stride, begin, end, from, to);
                       });
        };
    return [=](const HostRun& run) {
        run.pool.ranges(x.rows(), rowsForThread(x), 1, [&](int64_t begin, int64_t end) {
            for (int64_t at = begin * x.rowStride(); at < end * x.rowStride(); at += x.rowStride())
                host::cumulateRow(how, x.columns(), run.inputs[0] + at, run.outputs[0] + at);
        });
    };
}

std::vector<Tensor> gradientCumulative(const GradientCall& call) {
    return {cumulativeSum(
        call.outputGradients[0], static_cast<int>(call.attributes.integer("axis")),
        {.exclusive = call.attributes.flag("isExclusive"), .reverse = !call.attributes.flag("isReverse")})};
}

} // namespace

const Op kReduce{.name = "reduce",
                 .infer = inferReduce,
                 .reference = referenceReduce,
                 .dispatch = dispatchReduce,
                 .host = hostReduce,
                 .gradient = gradientReduce,
                 .operations = oneForEachInput};
const Op kCumulativeSum{.name = "cumulative_sum",
                        .infer = inferCumulative,
                        .reference = referenceCumulative,
                        .dispatch = dispatchCumulative,
                        .host = hostCumulative,
                        .gradient = gradientCumulative};

Tensor reduce(Tensor x, Reduction reduction, const std::vector<int>& axes) {
    const int rank = x.shape().rank();
    std::vector<bool> isReduced(static_cast<size_t>(rank), false);
    double count = 1;
    for (int axis : axes) {
        const int fromFirst = axisOf(axis, rank, "reduce");
        if (!isReduced[static_cast<size_t>(fromFirst)]) count *= static_cast<double>(x.shape()[fromFirst]);
        isReduced[static_cast<size_t>(fromFirst)] = true;
    }
    double factor = reduction == Reduction::Mean ? 1 / count : 1;
    for (int end = rank, first = rank; end > 0; end = first) { // the last axes first: they shrink x the most
        // Software Vulkan ends the loops of an invocation after 65,535 rounds in all; lines of the last axis are loops.
        const auto isBounded = [&](int from) {
            const Shape& shape = x.shape();
            return end < rank || from == rank - 1 || extentOf(shape, from, rank - 1) * shape.rowStride() <= 65536;
        };
        first = end;
        while (first > 0 && isReduced[static_cast<size_t>(first - 1)] && isBounded(first - 1)) --first;
        if (first == end) {
            --first; // an axis that is kept
        } else if (extentOf(x.shape(), first, end) > 1) {
            x = x.graph->add(kReduce, {x},
                             {{"isMaximum", reduction == Reduction::Maximum ? 1 : 0},
                              {"first", first},
                              {"end", end},
                              {"factor", factor}});
            factor = 1;
        }
    }
    return x;
}

Tensor sumTo(Tensor x, const Shape& shape) {
    const int lacking = x.shape().rank() - shape.rank();
    std::vector<int> axes;
    for (int axis = 0; axis < x.shape().rank(); ++axis)
        if (axis < lacking || shape[axis - lacking] == 1) axes.push_back(axis);
    return reshape(reduce(x, Reduction::Sum, axes), shape);
}

Tensor logSumExp(Tensor x) {
    const Tensor maximum = stopGradient(reduce(x, Reduction::Maximum, {-1}));
    const Tensor exponentials = unary(binary(x, maximum, Binary::Subtract), Unary::Exponential);
    return add(unary(reduce(exponentials, Reduction::Sum, {-1}), Unary::Logarithm), maximum);
}

Tensor cumulativeSum(Tensor x, int axis, const CumulativeOptions& options) {
    return x.graph->add(kCumulativeSum, {x},
                        {{"axis", axisOf(axis, x.shape().rank(), "cumulative_sum")},
                         {"isExclusive", options.exclusive ? 1 : 0},
                         {"isReverse", options.reverse ? 1 : 0}});
}

} // namespace attn
