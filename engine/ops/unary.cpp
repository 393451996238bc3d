#include "engine/host/function.h"
#include "engine/host/pool.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"
#include "engine/ops/walk.h"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

// unary, with affine and clamp ---------------------------------------------------------------------------------------

// The two functions with parameters follow those without.
constexpr auto kAffine = static_cast<Unary>(host::Function::Affine), kClamp = static_cast<Unary>(host::Function::Clamp);

Unary functionOf(const Attributes& attributes) { return static_cast<Unary>(attributes.integer("function")); }

double valueOf(Unary function, double x, double first, double second) {
    switch (function) {
    case Unary::Exponential:
        return std::exp(x);
    case Unary::Logarithm:
        return std::log(x);
    case Unary::Tanh:
        return std::tanh(x);
    case Unary::Sigmoid:
        return 1 / (1 + std::exp(-x));
    case Unary::Square:
        return x * x;
    case Unary::SquareRoot:
        return std::sqrt(x);
    case Unary::Reciprocal:
        return 1 / x;
    case Unary::ReciprocalSquareRoot:
        return 1 / std::sqrt(x);
    case Unary::Absolute:
        return std::abs(x);
    case Unary::Sine:
        return std::sin(x);
    case Unary::Cosine:
        return std::cos(x);
    case Unary::Floor:
        return std::floor(x);
    case Unary::EluPlusOne:
        return x > 0 ? x + 1 : std::exp(x);
    case Unary::Relu:
        return std::max(x, 0.0);
    case Unary::Negate:
        return -x;
    default:
        return function == kAffine ? x * first + second : std::clamp(x, first, second);
    }
}

/// f'(x), from x or, where that is simpler, from f(x).
double derivative(Unary function, double known, double first, double second) {
    switch (function) {
    case Unary::Exponential:
        return known;
    case Unary::Logarithm:
        return 1 / known;
    case Unary::Tanh:
        return 1 - known * known;
    case Unary::Sigmoid:
        return known * (1 - known);
    case Unary::Square:
        return 2 * known;
    case Unary::SquareRoot:
        return 0.5 / known;
    case Unary::Reciprocal:
        return -known * known;
    case Unary::ReciprocalSquareRoot:
        return -0.5 * known * known * known;
    case Unary::Absolute:
        return known > 0 ? 1 : known < 0 ? -1 : 0;
    case Unary::Sine:
        return std::cos(known);
    case Unary::Cosine:
        return -std::sin(known);
    case Unary::EluPlusOne:
        return std::min(known, 1.0);
    case Unary::Relu:
        return known > 0 ? 1 : 0;
    default:
        return known >= first && known <= second ? 1 : 0;
    }
}

bool isKnownFromResult(Unary function) {
    constexpr std::array kFunctions{Unary::Exponential, Unary::Tanh,       Unary::Sigmoid,
                                    Unary::SquareRoot,  Unary::Reciprocal, Unary::ReciprocalSquareRoot,
                                    Unary::EluPlusOne};
    return std::ranges::find(kFunctions, function) != kFunctions.end();
}

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "unary");
    requireWhole(inputs, "unary");
    require(inputs[0].dtype == DType::F32, "unary", "integers must be converted to real numbers first");
    return {inputs[0]};
}

void reference(const ReferenceCall& call) {
    forEach(call.outputs[0], [&](int64_t row, int64_t column) {
        return valueOf(functionOf(call.attributes), call.inputs[0].row(row)[column], call.attributes.number("first"),
                       call.attributes.number("second"));
    });
}

Dispatch elementwise(std::string_view shader, const OpTypes& types, std::vector<Binding> bindings) {
    const Shape& shape = types.outputs[0].shape;
    const int64_t count = shape.paddedElements() / 4;
    return {.shader = shader,
            .bindings = std::move(bindings),
            .push = {u32(count), u32(shape.columns()), pushFloat(types.attributes.number("first")),
                     pushFloat(types.attributes.number("second"))},
            .specialisation = {u32(types.attributes.integer("function")), shape.columns() % 4 == 0 ? 0u : 1u},
            .x = repeatedGrid(count, 64)};
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits&) {
    return {elementwise("ops/unary", types, {load4(0), writeOutput(0)})};
}

host::Function hostFunctionOf(const Attributes& attributes) {
    return {.kind = static_cast<uint8_t>(attributes.integer("function")),
            .first = static_cast<float>(attributes.number("first")),
            .second = static_cast<float>(attributes.number("second"))};
}

HostKernel hostKernel(const OpTypes& types) {
    return [function = hostFunctionOf(types.attributes), out = types.outputs[0].shape](const HostRun& run) {
        run.pool.ranges(out.rows(), rowsForThread(out), 1, [&](int64_t begin, int64_t end) {
            const int64_t at = begin * out.rowStride();
            host::apply(function, end - begin, out.columns(), run.inputs[0] + at, run.outputs[0] + at);
        });
    };
}

std::vector<Tensor> gradient(const GradientCall& call) {
    const Unary function = functionOf(call.attributes);
    const Tensor d = call.outputGradients[0];
    if (function == Unary::Floor) return {{}};
    if (function == Unary::Negate) return {scale(d, -1)};
    if (function == kAffine) return {scale(d, call.attributes.number("first"))};
    return {call.graph.add(kUnaryGradient, {isKnownFromResult(function) ? call.outputs[0] : call.inputs[0], d},
                           call.attributes)};
}

// unary_gradient: x or y, dy -----------------------------------------------------------------------------------------

std::vector<TensorType> inferGradient(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 2, "unary_gradient");
    requireWhole(inputs, "unary_gradient");
    return {inputs[1]};
}

void referenceGradient(const ReferenceCall& call) {
    forEach(call.outputs[0], [&](int64_t row, int64_t column) {
        return derivative(functionOf(call.attributes), call.inputs[0].row(row)[column], call.attributes.number("first"),
                          call.attributes.number("second")) *
               call.inputs[1].row(row)[column];
    });
}

std::vector<Dispatch> dispatchGradient(const OpTypes& types, const KernelTraits&) {
    return {elementwise("ops/unary_gradient", types, {load4(0), load4(1), writeOutput(0)})};
}

HostKernel hostGradient(const OpTypes& types) {
    return [function = hostFunctionOf(types.attributes), out = types.outputs[0].shape](const HostRun& run) {
        run.pool.ranges(out.rows(), rowsForThread(out), 1, [&](int64_t begin, int64_t end) {
            const int64_t at = begin * out.rowStride();
            host::applyGradient(function, end - begin, out.columns(), run.inputs[0] + at, run.inputs[1] + at,
                                run.outputs[0] + at);
        });
    };
}

Tensor addUnary(Tensor x, Unary function, double first, double second) {
    return x.graph->add(kUnary, {x},
                        {{"function", static_cast<double>(function)}, {"first", first}, {"second", second}});
}

// to_real, to_integer ------------------------------------------------------------------------------------------------

template <DType from> std::vector<TensorType> inferConversion(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "conversion");
    requireWhole(inputs, "conversion");
    require(inputs[0].dtype == from, "conversion", "the input already has this type");
    return {{.shape = inputs[0].shape, .dtype = from == DType::I32 ? DType::F32 : DType::I32}};
}

void referenceConversion(const ReferenceCall& call) {
    forEach(call.outputs[0], [&](int64_t row, int64_t column) { return std::floor(call.inputs[0].row(row)[column]); });
}

std::vector<Dispatch> dispatchConversion(const OpTypes& types, const KernelTraits&) {
    const int64_t count = types.outputs[0].shape.paddedElements() / 4;
    const bool isToReal = types.outputs[0].dtype == DType::F32;
    return {{.shader = isToReal ? "ops/to_real" : "ops/to_integer",
             .bindings = {isToReal ? readInput(0) : load4(0), writeOutput(0)},
             .push = {u32(count)},
             .x = repeatedGrid(count, 64)}};
}

HostKernel hostConversion(const OpTypes& types) {
    return [out = types.outputs[0]](const HostRun& run) {
        run.pool.ranges(out.shape.paddedElements() / 4, kVectorsForThread, 4, [&](int64_t begin, int64_t end) {
            const int64_t at = begin * 4, count = (end - begin) * 4;
            if (out.dtype == DType::F32)
                host::toReal(count, run.integers(0) + at, run.outputs[0] + at);
            else
                host::toInteger(count, run.inputs[0] + at, run.integerOutput(0) + at);
        });
    };
}

std::vector<Tensor> noGradient(const GradientCall&) { return {{}}; }

// stop_gradient ------------------------------------------------------------------------------------------------------

std::vector<TensorType> inferStop(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "stop_gradient");
    return {inputs[0]};
}

int aliasStop(const OpTypes&, uint32_t) { return 0; }

} // namespace

const Op kUnary{.name = "unary",
                .infer = infer,
                .reference = reference,
                .dispatch = dispatch,
                .host = hostKernel,
                .gradient = gradient};
const Op kUnaryGradient{.name = "unary_gradient",
                        .infer = inferGradient,
                        .reference = referenceGradient,
                        .dispatch = dispatchGradient,
                        .host = hostGradient};
const Op kToReal{.name = "to_real",
                 .infer = inferConversion<DType::I32>,
                 .reference = referenceConversion,
                 .dispatch = dispatchConversion,
                 .host = hostConversion,
                 .gradient = noGradient,
                 .operations = noOperations};
const Op kToInteger{.name = "to_integer",
                    .infer = inferConversion<DType::F32>,
                    .reference = referenceConversion,
                    .dispatch = dispatchConversion,
                    .host = hostConversion,
                    .gradient = noGradient,
                    .operations = noOperations};
const Op kStopGradient{.name = "stop_gradient",
                       .infer = inferStop,
                       .reference = nullptr,
                       .dispatch = nullptr,
                       .aliasOf = aliasStop,
                       .gradient = noGradient,
                       .operations = noOperations};

Tensor unary(Tensor x, Unary function) { return addUnary(x, function, 0, 0); }
Tensor affine(Tensor x, double factor, double offset) { return addUnary(x, kAffine, factor, offset); }

Tensor clamp(Tensor x, double low, double high) {
    require(low <= high, "clamp", fmt::format("the lower limit {} is above the upper limit {}", low, high));
    return addUnary(x, kClamp, low, high);
}

Tensor toReal(Tensor x) { return x.graph->add(kToReal, {x}); }
Tensor toInteger(Tensor x) { return x.graph->add(kToInteger, {x}); }
Tensor stopGradient(Tensor x) { return x.graph->add(kStopGradient, {x}, {{"onlyInTraining", 0}}); }

} // namespace attn
