#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"
#include "engine/ops/training_ops.h"

#include <cmath>

namespace attn {
namespace {

// square_norms: tensors -> [tensors,4] -------------------------------------------------------------------------------

std::vector<TensorType> inferSquareNorms(std::span<const TensorType> inputs, const Attributes&) {
    require(!inputs.empty(), "square_norms", "needs at least one tensor");
    requireWhole(inputs, "square_norms");
    return {{.shape = {static_cast<int64_t>(inputs.size()), 4}}};
}

void referenceSquareNorms(const ReferenceCall& call) {
    for (size_t i = 0; i < call.inputs.size(); ++i)
        for (int64_t row = 0; row < call.inputs[i].rows(); ++row)
            for (int64_t c = 0; c < call.inputs[i].columns(); ++c)
                call.outputs[0].row(static_cast<int64_t>(i))[0] +=
                    call.inputs[i].row(row)[c] * call.inputs[i].row(row)[c];
}

std::vector<Dispatch> dispatchSquareNorms(const OpTypes& types, const KernelTraits& traits) {
    std::vector<Dispatch> result;
    for (uint32_t i = 0; i < types.inputs.size(); ++i)
        result.push_back({.shader = "ops/square_norms",
                          .bindings = {load4(i), writeOutput(0)},
                          .push = {u32(types.inputs[i].shape.paddedElements() / 4), i},
                          .specialisation = {traits.subgroupSize, 1}});
    return result;
}

// clip_factor: squares -> norm, factor -------------------------------------------------------------------------------

std::vector<TensorType> inferClip(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "clip_factor");
    require(inputs[0].shape.columns() == 4, "clip_factor", "needs what square_norms gives");
    return {{.shape = {1}}, {.shape = {1}}};
}

void referenceClip(const ReferenceCall& call) {
    double sum = 0;
    for (int64_t row = 0; row < call.inputs[0].rows(); ++row) sum += call.inputs[0].row(row)[0];
    const double maximum = call.attributes.number("maximum");
    call.outputs[0].data[0] = std::sqrt(sum);
    call.outputs[1].data[0] = maximum > 0 ? std::min(1.0, maximum / (std::sqrt(sum) + 1e-6)) : 1;
}

std::vector<Dispatch> dispatchClip(const OpTypes& types, const KernelTraits&) {
    return {{.shader = "ops/clip_factor",
             .bindings = {load4(0), writeOutput(0), writeOutput(1)},
             .push = {u32(types.inputs[0].shape.rows()), pushFloat(types.attributes.number("maximum"))}}};
}

// adam: parameter, moment, variance, gradient, factor; sgd: parameter, velocity, gradient, factor --------------------

int aliasOwn(const OpTypes&, uint32_t output) { return static_cast<int>(output); }

template <size_t states> std::vector<TensorType> inferUpdate(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, states + 2, "update");
    for (size_t i = 1; i <= states; ++i)
        require(inputs[i].shape == inputs[0].shape, "update",
                fmt::format("{} does not fit the parameter {}", inputs[i].shape.text(), inputs[0].shape.text()));
    require(inputs.back().shape.elements() == 1, "update", "the factor must be one number");
    return {inputs.begin(), inputs.begin() + states};
}

void referenceAdam(const ReferenceCall& call) {
    const Attributes& a = call.attributes;
    const double beta1 = a.number("beta1"), beta2 = a.number("beta2"),
                 rate = call.step.number(StepScalar::LearningRate);
    for (int64_t i = 0; i < call.outputs[0].shape.paddedElements(); ++i) {
        double &p = call.outputs[0].data[i], &m = call.outputs[1].data[i], &v = call.outputs[2].data[i];
        double g = call.inputs[3].data[i] * call.inputs[4].data[0];
        if (a.flag("isDecoupled"))
            p *= 1 - rate * a.number("decay");
        else
            g += a.number("decay") * p;
        m = beta1 * m + (1 - beta1) * g;
        v = beta2 * v + (1 - beta2) * g * g;
        p -= rate * call.step.number(StepScalar::MomentCorrection) * m /
             (std::sqrt(v) * call.step.number(StepScalar::VarianceCorrection) + a.number("epsilon"));
    }
}

std::vector<Dispatch> dispatchAdam(const OpTypes& types, const KernelTraits&) {
    const Attributes& a = types.attributes;
    return {{.shader = "ops/adam",
             .bindings = {load4(3), readInput(4), writeOutput(0), writeOutput(1), writeOutput(2)},
             .push = {u32(types.outputs[0].shape.paddedElements() / 4), pushFloat(a.number("beta1")),
                      pushFloat(a.number("beta2")), pushFloat(a.number("epsilon")), pushFloat(a.number("decay")),
                      a.flag("isDecoupled") ? 1u : 0u},
             .x = gridPerVec4(types.outputs[0])}};
}

void referenceSgd(const ReferenceCall& call) {
    const double momentum = call.attributes.number("momentum"), decay = call.attributes.number("decay");
    for (int64_t i = 0; i < call.outputs[0].shape.paddedElements(); ++i) {
        double &p = call.outputs[0].data[i], &u = call.outputs[1].data[i];
        u = momentum * u + call.inputs[2].data[i] * call.inputs[3].data[0] + decay * p;
        p -= call.step.number(StepScalar::LearningRate) * u;
    }
}

std::vector<Dispatch> dispatchSgd(const OpTypes& types, const KernelTraits&) {
    return {{.shader = "ops/sgd",
             .bindings = {load4(2), readInput(3), writeOutput(0), writeOutput(1)},
             .push = {u32(types.outputs[0].shape.paddedElements() / 4), pushFloat(types.attributes.number("momentum")),
                      pushFloat(types.attributes.number("decay"))},
             .x = gridPerVec4(types.outputs[0])}};
}

// accumulate: state, x -----------------------------------------------------------------------------------------------

std::vector<TensorType> inferAccumulate(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 2, "accumulate");
    require(inputs[0].shape == inputs[1].shape, "accumulate",
            fmt::format("{} and {} differ", inputs[0].shape.text(), inputs[1].shape.text()));
    return {inputs[0]};
}

void referenceAccumulate(const ReferenceCall& call) {
    for (int64_t i = 0; i < call.outputs[0].shape.paddedElements(); ++i)
        call.outputs[0].data[i] =
            (call.step[StepScalar::MicroStep] == 0 ? 0 : call.outputs[0].data[i]) + call.inputs[1].data[i];
}

std::vector<Dispatch> dispatchAccumulate(const OpTypes& types, const KernelTraits&) {
    return {{.shader = "ops/accumulate",
             .bindings = {load4(1), writeOutput(0)},
             .push = {u32(types.outputs[0].shape.paddedElements() / 4)},
             .x = gridPerVec4(types.outputs[0])}};
}

std::vector<Tensor> outputsOf(Tensor first, uint32_t count) {
    std::vector<Tensor> result;
    for (uint32_t output = 0; output < count; ++output) result.push_back({first.graph, first.node, output});
    return result;
}

} // namespace

const Op kSquareNorms{.name = "square_norms",
                      .infer = inferSquareNorms,
                      .reference = referenceSquareNorms,
                      .dispatch = dispatchSquareNorms};
const Op kClipFactor{.name = "clip_factor", .infer = inferClip, .reference = referenceClip, .dispatch = dispatchClip};
const Op kAdam{.name = "adam",
               .infer = inferUpdate<3>,
               .reference = referenceAdam,
               .dispatch = dispatchAdam,
               .aliasOf = aliasOwn,
               .writesInPlace = true};
const Op kSgd{.name = "sgd",
              .infer = inferUpdate<2>,
              .reference = referenceSgd,
              .dispatch = dispatchSgd,
              .aliasOf = aliasOwn,
              .writesInPlace = true};
const Op kAccumulate{.name = "accumulate",
                     .infer = inferAccumulate,
                     .reference = referenceAccumulate,
                     .dispatch = dispatchAccumulate,
                     .aliasOf = aliasOwn,
                     .writesInPlace = true};

Tensor squareNorms(std::span<const Tensor> tensors) {
    return tensors[0].graph->add(kSquareNorms, {tensors.begin(), tensors.end()});
}

Clip clipFactor(Tensor squares, double maximum) {
    const Tensor norm = squares.graph->add(kClipFactor, {squares}, {{"maximum", maximum}});
    return {norm, {norm.graph, norm.node, 1}};
}

std::vector<Tensor> adamUpdate(Tensor parameter, Tensor moment, Tensor variance, Tensor gradient, Tensor factor,
                               const AdamOptions& options) {
    return outputsOf(parameter.graph->add(kAdam, {parameter, moment, variance, gradient, factor},
                                          {{"beta1", options.beta1},
                                           {"beta2", options.beta2},
                                           {"epsilon", options.epsilon},
                                           {"decay", options.decay},
                                           {"isDecoupled", options.isDecoupled ? 1 : 0}}),
                     3);
}

std::vector<Tensor> sgdUpdate(Tensor parameter, Tensor velocity, Tensor gradient, Tensor factor, double momentum,
                              double decay) {
    return outputsOf(
        parameter.graph->add(kSgd, {parameter, velocity, gradient, factor}, {{"momentum", momentum}, {"decay", decay}}),
        2);
}

Tensor accumulate(Tensor state, Tensor x) { return state.graph->add(kAccumulate, {state, x}); }

} // namespace attn
