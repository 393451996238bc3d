#include "engine/ops/convolve.h"

#include "engine/host/convolution.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"

namespace attn {
namespace {

// The weights of these ops are [taps, C / groups, O]. Attributes hold the extents and the axes; one axis is x alone.

Attributes attributesOf(const host::Convolution& of) {
    const auto d = [](int64_t value) { return static_cast<double>(value); };
    Attributes attributes{{"B", d(of.B)}, {"C", d(of.C)}, {"O", d(of.O)}, {"groups", d(of.groups)}};
    const auto set = [&](std::initializer_list<std::string_view> names, const host::ConvolvedAxis& axis) {
        auto name = names.begin();
        for (const int64_t value : {axis.input, axis.output, axis.taps, axis.stride, axis.dilation, axis.before})
            attributes.set(*name++, d(value));
    };
    set({"y.input", "y.output", "y.taps", "y.stride", "y.dilation", "y.before"}, of.y);
    set({"x.input", "x.output", "x.taps", "x.stride", "x.dilation", "x.before"}, of.x);
    return attributes;
}

host::Convolution problemOf(const Attributes& attributes) {
    const auto i = [&](std::string_view name) { return attributes.integer(name); };
    return {.B = i("B"),
            .C = i("C"),
            .O = i("O"),
            .groups = i("groups"),
            .y = {.input = i("y.input"),
                  .output = i("y.output"),
                  .taps = i("y.taps"),
                  .stride = i("y.stride"),
                  .dilation = i("y.dilation"),
                  .before = i("y.before")},
            .x = {.input = i("x.input"),
                  .output = i("x.output"),
                  .taps = i("x.taps"),
                  .stride = i("x.stride"),
                  .dilation = i("x.dilation"),
                  .before = i("x.before")}};
}

Shape weightShape(const host::Convolution& of) { return {of.taps(), of.groupC(), of.O}; }
/// The shape of x or of the result, with one axis of extents if the convolution has one.
Shape rowShape(const host::Convolution& of, bool hasTwoAxes, bool isResult) {
    const int64_t y = isResult ? of.y.output : of.y.input, x = isResult ? of.x.output : of.x.input,
                  columns = isResult ? of.O : of.C;
    return hasTwoAxes ? Shape{of.B, y, x, columns} : Shape{of.B, x, columns};
}

void requireShapes(std::span<const TensorType> inputs, std::initializer_list<Shape> shapes, std::string_view op) {
    requireInputs(inputs, shapes.size(), op);
    requireWhole(inputs, op);
    size_t next = 0;
    for (const Shape& shape : shapes) {
        const Shape& given = inputs[next++].shape;
        require(given == shape, op, fmt::format("{} is not {}", given.text(), shape.text()));
    }
}

/// Calls visit(row of x, row of the result, tap) for each tap of each row that lies inside x.
template <typename Visit> void forEachMeeting(const host::Convolution& of, const Visit& visit) {
    for (int64_t b = 0; b < of.B; ++b)
        for (int64_t oy = 0; oy < of.y.output; ++oy)
            for (int64_t ox = 0; ox < of.x.output; ++ox)
                for (int64_t tap = 0; tap < of.taps(); ++tap) {
                    const int64_t iy = of.y.inputOf(oy, tap / of.x.taps), ix = of.x.inputOf(ox, tap % of.x.taps);
                    if (iy >= 0 && iy < of.y.input && ix >= 0 && ix < of.x.input)
                        visit((b * of.y.input + iy) * of.x.input + ix, (b * of.y.output + oy) * of.x.output + ox, tap);
                }
}

/// Calls visit(channel of x, its place in the group, channel of the result) for all pairs within a group.
template <typename Visit> void forEachPair(const host::Convolution& of, const Visit& visit) {
    for (int64_t o = 0; o < of.O; ++o)
        for (int64_t c = 0; c < of.groupC(); ++c) visit(o / of.groupO() * of.groupC() + c, c, o);
}

/// The push constants with which all three shaders begin.
std::vector<uint32_t> pushOf(const host::Convolution& of) {
    std::vector<uint32_t> push{u32(of.C), u32(of.O), u32(of.groups)};
    for (const host::ConvolvedAxis& axis : {of.y, of.x})
        push.insert(push.end(), {u32(axis.input), u32(axis.output), u32(axis.taps), u32(axis.stride),
                                 u32(axis.dilation), u32(axis.before)});
    return push;
}

double productOperations(const OpTypes& types) {
    const host::Convolution of = problemOf(types.attributes);
    return 2.0 * static_cast<double>(of.B * of.y.output * of.x.output * of.O) *
           static_cast<double>(of.taps() * of.groupC());
}

// convolve: x, weights, bias (optional) -------------------------------------------------------------------------------

bool hasBias(const Attributes& attributes) { return attributes.flag("bias"); }

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
    const host::Convolution of = problemOf(attributes);
    requireInputs(inputs, hasBias(attributes) ? 3 : 2, "convolve");
    const bool hasTwoAxes = inputs[0].shape.rank() == 4;
    requireShapes(inputs.first(2), {rowShape(of, hasTwoAxes, false), weightShape(of)}, "convolve");
    if (hasBias(attributes)) requireShapes(inputs.subspan(2), {Shape{of.O}}, "convolve");
    return {{.shape = rowShape(of, hasTwoAxes, true)}};
}

void reference(const ReferenceCall& call) {
    const host::Convolution of = problemOf(call.attributes);
    const ReferenceTensor &x = call.inputs[0], &w = call.inputs[1], &y = call.outputs[0];
    if (hasBias(call.attributes)) forEach(y, [&](int64_t, int64_t o) { return call.inputs[2].data[o]; });
    forEachMeeting(of, [&](int64_t from, int64_t to, int64_t tap) {
        forEachPair(of, [&](int64_t c, int64_t place, int64_t o) {
            y.row(to)[o] += x.row(from)[c] * w.row(tap * of.groupC() + place)[o];
        });
    });
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits&) {
    const host::Convolution of = problemOf(types.attributes);
    std::vector<uint32_t> push = pushOf(of);
    const int64_t numbers = types.outputs[0].shape.paddedElements();
    push.insert(push.end(), {u32(numbers), hasBias(types.attributes)});
    return {{.shader = "ops/convolve",
             .bindings = {readInput(0), readInput(1), readInput(hasBias(types.attributes) ? 2 : 0), writeOutput(0)},
             .push = push,
             .x = FlatGrid(numbers).x,
             .y = FlatGrid(numbers).y}};
}

HostKernel hostKernel(const OpTypes& types) {
    return [of = problemOf(types.attributes), isBiased = hasBias(types.attributes)](const HostRun& run) {
        host::convolve(of, run.inputs[0], run.inputs[1], isBiased ? run.inputs[2] : nullptr, run.outputs[0], run.pool);
    };
}

std::vector<Tensor> gradient(const GradientCall& call) {
    const Tensor x = call.inputs[0], w = call.inputs[1], d = call.outputGradients[0];
    Attributes attributes = call.attributes;
    attributes.set("bias", 0);
    std::vector<Tensor> result{call.graph.add(kConvolveInputGradient, {d, w}, attributes),
                               call.graph.add(kConvolveWeightGradient, {x, d}, attributes)};
    if (hasBias(call.attributes)) {
        std::vector<int> axes;
        for (int axis = 0; axis + 1 < d.shape().rank(); ++axis) axes.push_back(axis);
        result.push_back(reshape(reduce(d, Reduction::Sum, axes), {d.shape().columns()}));
    }
    return result;
}

// convolve_input_gradient: d, weights ---------------------------------------------------------------------------------

std::vector<TensorType> inferInput(std::span<const TensorType> inputs, const Attributes& attributes) {
    const host::Convolution of = problemOf(attributes);
    requireInputs(inputs, 2, "convolve_input_gradient");
    const bool hasTwoAxes = inputs[0].shape.rank() == 4;
    requireShapes(inputs, {rowShape(of, hasTwoAxes, true), weightShape(of)}, "convolve_input_gradient");
    return {{.shape = rowShape(of, hasTwoAxes, false)}};
}

void referenceInput(const ReferenceCall& call) {
    const host::Convolution of = problemOf(call.attributes);
    const ReferenceTensor &d = call.inputs[0], &w = call.inputs[1], &dx = call.outputs[0];
    forEachMeeting(of, [&](int64_t from, int64_t to, int64_t tap) {
        forEachPair(of, [&](int64_t c, int64_t place, int64_t o) {
            dx.row(from)[c] += d.row(to)[o] * w.row(tap * of.groupC() + place)[o];
        });
    });
}

std::vector<Dispatch> dispatchInput(const OpTypes& types, const KernelTraits&) {
    std::vector<uint32_t> push = pushOf(problemOf(types.attributes));
    const int64_t numbers = types.outputs[0].shape.paddedElements();
    push.push_back(u32(numbers));
    return {{.shader = "ops/convolve_input_gradient",
             .bindings = {readInput(0), readInput(1), writeOutput(0)},
             .push = push,
             .x = FlatGrid(numbers).x,
             .y = FlatGrid(numbers).y}};
}

HostKernel hostInput(const OpTypes& types) {
    return [of = problemOf(types.attributes)](const HostRun& run) {
        host::convolveInputGradient(of, run.inputs[0], run.inputs[1], run.outputs[0], run.pool);
    };
}

// convolve_weight_gradient: x, d --------------------------------------------------------------------------------------

std::vector<TensorType> inferWeight(std::span<const TensorType> inputs, const Attributes& attributes) {
    const host::Convolution of = problemOf(attributes);
    requireInputs(inputs, 2, "convolve_weight_gradient");
    const bool hasTwoAxes = inputs[0].shape.rank() == 4;
    requireShapes(inputs, {rowShape(of, hasTwoAxes, false), rowShape(of, hasTwoAxes, true)},
                  "convolve_weight_gradient");
    return {{.shape = weightShape(of)}};
}

void referenceWeight(const ReferenceCall& call) {
    const host::Convolution of = problemOf(call.attributes);
    const ReferenceTensor &x = call.inputs[0], &d = call.inputs[1], &dw = call.outputs[0];
    forEachMeeting(of, [&](int64_t from, int64_t to, int64_t tap) {
        forEachPair(of, [&](int64_t c, int64_t place, int64_t o) {
            dw.row(tap * of.groupC() + place)[o] += x.row(from)[c] * d.row(to)[o];
        });
    });
}

/// Launches for parts of the rows. Each continues from the result of the previous one.
std::vector<Dispatch> dispatchWeight(const OpTypes& types, const KernelTraits&) {
    constexpr int64_t kRows = 16384; // software Vulkan ends a loop after 65,535 rounds
    const host::Convolution of = problemOf(types.attributes);
    const int64_t rows = of.B * of.y.output * of.x.output, numbers = types.outputs[0].shape.paddedElements();
    std::vector<Dispatch> list;
    for (int64_t first = 0; first < rows; first += kRows) {
        std::vector<uint32_t> push = pushOf(of);
        push.insert(push.end(), {u32(numbers), u32(first), u32(std::min(first + kRows, rows))});
        list.push_back({.shader = "ops/convolve_weight_gradient",
                        .bindings = {readInput(0), readInput(1), writeOutput(0)},
                        .push = push,
                        .x = FlatGrid(numbers).x,
                        .y = FlatGrid(numbers).y,
                        .barrierBefore = first > 0});
    }
    return list;
}

HostKernel hostWeight(const OpTypes& types) {
    return [of = problemOf(types.attributes)](const HostRun& run) {
        host::convolveWeightGradient(of, run.inputs[0], run.inputs[1], run.outputs[0], run.pool);
    };
}

} // namespace

const Op kConvolve{.name = "convolve",
                   .infer = infer,
                   .reference = reference,
                   .dispatch = dispatch,
                   .host = hostKernel,
                   .gradient = gradient,
                   .operations = productOperations};
const Op kConvolveInputGradient{.name = "convolve_input_gradient",
                                .infer = inferInput,
                                .reference = referenceInput,
                                .dispatch = dispatchInput,
                                .host = hostInput,
                                .operations = productOperations};
const Op kConvolveWeightGradient{.name = "convolve_weight_gradient",
                                 .infer = inferWeight,
                                 .reference = referenceWeight,
                                 .dispatch = dispatchWeight,
                                 .host = hostWeight,
                                 .operations = productOperations};

Tensor convolve(Tensor x, Tensor w, Tensor bias, const std::vector<ConvolutionAxis>& axes, int64_t groups) {
    constexpr std::string_view kOp = "convolve";
    const Shape &from = x.shape(), &kernel = w.shape();
    const auto count = static_cast<int>(axes.size());
    require((count == 1 || count == 2) && from.rank() == count + 2 && kernel.rank() == count + 2, kOp,
            fmt::format("x {} and the kernel {} do not have {} axes", from.text(), kernel.text(), count));
    host::Convolution of{.B = from[0], .C = from[-1], .O = kernel[0], .groups = groups};
    require(groups >= 1 && of.C % groups == 0 && of.O % groups == 0 && kernel[1] == of.C / groups, kOp,
            fmt::format("{} groups do not fit the channels of x {} and of the kernel {}", groups, from.text(),
                        kernel.text()));
    for (int i = 0; i < count; ++i) {
        const ConvolutionAxis& given = axes[static_cast<size_t>(i)];
        host::ConvolvedAxis& axis = i + 1 == count ? of.x : of.y;
        axis = {.input = from[1 + i],
                .taps = kernel[2 + i],
                .stride = given.stride,
                .dilation = given.dilation,
                .before = given.before};
        const int64_t spare = axis.input + given.before + given.after - given.dilation * (axis.taps - 1) - 1;
        require(given.stride >= 1 && given.dilation >= 1 && given.before >= 0 && given.after >= 0 && spare >= 0, kOp,
                fmt::format("a kernel of {} taps, stride {} and dilation {} does not fit {} rows with {} and {} zeros "
                            "around them",
                            axis.taps, given.stride, given.dilation, axis.input, given.before, given.after));
        axis.output = spare / given.stride + 1;
    }
    // [O, C / groups, K...] -> [taps, C / groups, O]
    const Tensor weights = permute(reshape(w, {of.O, of.groupC(), of.taps()}), {2, 1, 0});
    Attributes attributes = attributesOf(of);
    attributes.set("bias", bias ? 1 : 0);
    return x.graph->add(kConvolve, bias ? std::vector{x, weights, bias} : std::vector{x, weights}, attributes);
}

} // namespace attn
