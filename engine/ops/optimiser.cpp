#include "engine/host/elementwise.h"
#include "engine/host/pool.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"
#include "engine/ops/training_ops.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace attn {
namespace {

// square_norms: tensors -> [tensors,kParts] --------------------------------------------------------------------------

constexpr int64_t kParts = 32; // of a tensor, summed separately

/// A kernel that updates several tensors at once. Devices that bind fewer storage buffers use one with fewer slots.
struct SlotKernel {
    std::string_view shader;
    size_t slots;
};
SlotKernel chosen(const KernelTraits& traits, SlotKernel many, SlotKernel few) {
    constexpr uint32_t kBuffersOfMany = 30; // what adam binds, which is the most
    return traits.maxStorageBuffers >= kBuffersOfMany ? many : few;
}

std::vector<TensorType> inferSquareNorms(std::span<const TensorType> inputs, const Attributes&) {
    require(!inputs.empty(), "square_norms", "needs at least one tensor");
    requireWhole(inputs, "square_norms");
    return {{.shape = {static_cast<int64_t>(inputs.size()), kParts}}};
}

void referenceSquareNorms(const ReferenceCall& call) {
    for (size_t i = 0; i < call.inputs.size(); ++i) {
        const int64_t vectors = call.inputs[i].shape.paddedElements() / 4, stretch = (vectors + kParts - 1) / kParts;
        for (int64_t at = 0; at < vectors * 4; ++at)
            call.outputs[0].row(static_cast<int64_t>(i))[at / 4 / stretch] +=
                call.inputs[i].data[at] * call.inputs[i].data[at];
    }
}

std::vector<Dispatch> dispatchSquareNorms(const OpTypes& types, const KernelTraits& traits) {
    const auto [shader, slots] = chosen(traits, {"ops/square_norms", 24}, {"ops/square_norms_few", 8});
    std::vector<Dispatch> result;
    for (size_t first = 0; first < types.inputs.size(); first += slots) {
        const size_t count = std::min(slots, types.inputs.size() - first);
        Dispatch dispatch{.shader = shader,
                          .specialisation = {traits.subgroupSize, 1},
                          .x = groupsOf(kParts, 1),
                          .y = GridAxis::fixed(count)};
        for (size_t slot = 0; slot < slots; ++slot) {
            const size_t input = first + (slot < count ? slot : 0); // slots without a tensor are never read
            dispatch.bindings.push_back(load4(static_cast<uint32_t>(input)));
            dispatch.push.push_back(u32(types.inputs[input].shape.paddedElements() / 4));
        }
        dispatch.bindings.push_back(writeOutput(0));
        dispatch.push.push_back(static_cast<uint32_t>(first));
        result.push_back(dispatch);
    }
    return result;
}

HostKernel hostSquareNorms(const OpTypes& types) {
    std::vector<int64_t> vectors;
    for (const TensorType& input : types.inputs) vectors.push_back(input.shape.paddedElements() / 4);
    return [=](const HostRun& run) {
        run.pool.run(static_cast<int64_t>(vectors.size()), [&](int64_t i) {
            const auto tensor = static_cast<size_t>(i);
            const int64_t stretch = (vectors[tensor] + kParts - 1) / kParts;
            for (int64_t part = 0; part < kParts; ++part) {
                const int64_t begin = std::min(part * stretch, vectors[tensor]),
                              end = std::min(begin + stretch, vectors[tensor]);
                run.outputs[0][i * kParts + part] = host::squares((end - begin) * 4, run.inputs[tensor] + begin * 4);
            }
        });
    };
}

// clip_factor: squares -> norm, factor -------------------------------------------------------------------------------

constexpr double kNoUpdate = -1; ///< a factor below 0: the updates leave all states as they are

std::vector<TensorType> inferClip(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "clip_factor");
    require(inputs[0].shape.columns() == kParts, "clip_factor", "needs the output of square_norms");
    return {{.shape = {1}}, {.shape = {1}}};
}

void referenceClip(const ReferenceCall& call) {
    double sum = 0;
    for (int64_t i = 0; i < call.inputs[0].shape.elements(); ++i) sum += call.inputs[0].data[i];
    const double maximum = call.attributes.number("maximum");
    const double norm = std::sqrt(sum);
    call.outputs[0].data[0] = norm;
    call.outputs[1].data[0] = call.attributes.flag("refusesOverflow") && !std::isfinite(norm) ? kNoUpdate
                              : maximum > 0 ? std::min(1.0, maximum / (norm + 1e-6))
                                            : 1;
}

std::vector<Dispatch> dispatchClip(const OpTypes& types, const KernelTraits& traits) {
    return {{.shader = "ops/clip_factor",
             .bindings = {load4(0), writeOutput(0), writeOutput(1)},
             .push = {u32(types.inputs[0].shape.elements() / 4), pushFloat(types.attributes.number("maximum")),
                      types.attributes.flag("refusesOverflow") ? 1u : 0u},
             .specialisation = {traits.subgroupSize, 1}}};
}

HostKernel hostClip(const OpTypes& types) {
    const auto maximum = static_cast<float>(types.attributes.number("maximum"));
    const bool refuses = types.attributes.flag("refusesOverflow");
    return [=, count = types.inputs[0].shape.elements()](const HostRun& run) {
        const float norm = std::sqrt(host::total(count, run.inputs[0]));
        std::fill_n(run.outputs[0], 4, 0.0f);
        std::fill_n(run.outputs[1], 4, 0.0f);
        run.outputs[0][0] = norm;
        run.outputs[1][0] = refuses && !std::isfinite(norm) ? static_cast<float>(kNoUpdate)
                            : maximum > 0                   ? std::min(1.0f, maximum / (norm + 1e-6f))
                                                            : 1;
    };
}

// Updates of many tensors in place. Inputs: the states of each tensor (parameter, moment, variance), then one gradient
// per tensor, then optionally the gradients' factor. ------------------------------------------------------------

constexpr size_t kSlots = 7, kFewSlots = 3;     // as in slots.glsl
constexpr uint32_t kVectorsPerWorkgroup = 1024; // as in slots.glsl

int aliasOwn(const OpTypes&, uint32_t output) { return static_cast<int>(output); }

/// @param states tensors that are updated per gradient  @param hasFactor whether a factor is the last input
template <size_t states, bool hasFactor>
std::vector<TensorType> inferUpdate(std::span<const TensorType> inputs, const Attributes&) {
    const size_t count = inputs.size() / (states + 1), updated = count * states;
    require(count > 0 && inputs.size() == count * (states + 1) + (hasFactor ? 1 : 0), "update",
            fmt::format("{} inputs are not {} per gradient", inputs.size(), states));
    for (size_t i = 0; i < updated; ++i)
        require(inputs[i].shape == inputs[updated + i / states].shape, "update",
                fmt::format("{} does not fit the gradient {}", inputs[i].shape.text(),
                            inputs[updated + i / states].shape.text()));
    require(!hasFactor || inputs.back().shape.elements() == 1, "update", "the factor must be one number");
    return {inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(updated)};
}

/// Norms and biases do not decay.
double decayOf(const Attributes& attributes, const Shape& shape) {
    return shape.rank() > 1 ? attributes.number("decay") : 0;
}

/// Dispatches that update as many tensors at once as the kernel has slots.
/// @param shared bound before the slots  @param push constants after the sizes of the slots
template <size_t states>
std::vector<Dispatch> dispatchSlots(const OpTypes& types, const SlotKernel& kernel, const std::vector<Binding>& shared,
                                    const std::vector<uint32_t>& push, bool decays) {
    const size_t count = types.outputs.size() / states;
    std::vector<Dispatch> result;
    for (size_t first = 0; first < count; first += kernel.slots) {
        Dispatch dispatch{.shader = kernel.shader, .bindings = shared};
        std::vector<uint32_t> vectors;
        uint32_t groups = 0, decayBits = 0;
        for (size_t slot = 0; slot < kernel.slots; ++slot) {
            const bool isUsed = first + slot < count;
            const size_t tensor = isUsed ? first + slot : first;
            const Shape& shape = types.outputs[tensor * states].shape;
            vectors.push_back(u32(shape.paddedElements() / 4));
            groups += isUsed ? (vectors.back() + kVectorsPerWorkgroup - 1) / kVectorsPerWorkgroup : 0;
            decayBits |= (shape.rank() > 1 ? 1u : 0u) << slot;
            dispatch.push.push_back(groups);
            dispatch.bindings.push_back(load4(static_cast<uint32_t>(count * states + tensor)));
            for (size_t state = 0; state < states; ++state)
                dispatch.bindings.push_back(writeOutput(static_cast<uint32_t>(tensor * states + state)));
        }
        dispatch.push.insert(dispatch.push.end(), vectors.begin(), vectors.end());
        dispatch.push.insert(dispatch.push.end(), push.begin(), push.end());
        if (decays) dispatch.push.push_back(decayBits);
        dispatch.x = GridAxis::fixed(groups);
        result.push_back(std::move(dispatch));
    }
    return result;
}

uint32_t factorInput(const OpTypes& types) { return static_cast<uint32_t>(types.inputs.size() - 1); }

void referenceAdam(const ReferenceCall& call) {
    const Attributes& a = call.attributes;
    const double beta1 = a.number("beta1"), beta2 = a.number("beta2"),
                 rate = call.step.number(StepScalar::LearningRate) * a.number("rateFactor");
    if (call.inputs.back().data[0] < 0) return;
    for (size_t tensor = 0; tensor < call.outputs.size() / 3; ++tensor)
        for (int64_t i = 0; i < call.outputs[tensor * 3].shape.paddedElements(); ++i) {
            const auto state = [&](size_t n) -> double& { return call.outputs[tensor * 3 + n].data[i]; };
            double &p = state(0), &m = state(1), &v = state(2);
            double g = call.inputs[call.outputs.size() + tensor].data[i] * call.inputs.back().data[0];
            const double decay = decayOf(a, call.outputs[tensor * 3].shape);
            if (a.flag("isDecoupled"))
                p *= 1 - rate * decay;
            else
                g += decay * p;
            m = beta1 * m + (1 - beta1) * g;
            v = beta2 * v + (1 - beta2) * g * g;
            p -= rate * call.step.number(StepScalar::MomentCorrection) * m /
                 (std::sqrt(v) * call.step.number(StepScalar::VarianceCorrection) + a.number("epsilon"));
        }
}

std::vector<Dispatch> dispatchAdam(const OpTypes& types, const KernelTraits& traits) {
    const Attributes& a = types.attributes;
    return dispatchSlots<3>(
        types, chosen(traits, {"ops/adam", kSlots}, {"ops/adam_few", kFewSlots}), {readInput(factorInput(types))},
        {pushFloat(a.number("beta1")), pushFloat(a.number("beta2")), pushFloat(a.number("epsilon")),
         pushFloat(a.number("decay")), pushFloat(a.number("rateFactor")), a.flag("isDecoupled") ? 1u : 0u},
        true);
}

void referenceSgd(const ReferenceCall& call) {
    const Attributes& a = call.attributes;
    if (call.inputs.back().data[0] < 0) return;
    for (size_t tensor = 0; tensor < call.outputs.size() / 2; ++tensor)
        for (int64_t i = 0; i < call.outputs[tensor * 2].shape.paddedElements(); ++i) {
            double &p = call.outputs[tensor * 2].data[i], &u = call.outputs[tensor * 2 + 1].data[i];
            const double g = call.inputs[call.outputs.size() + tensor].data[i] * call.inputs.back().data[0];
            u = a.number("momentum") * u + g + decayOf(a, call.outputs[tensor * 2].shape) * p;
            p -= call.step.number(StepScalar::LearningRate) * a.number("rateFactor") * u;
        }
}

std::vector<Dispatch> dispatchSgd(const OpTypes& types, const KernelTraits& traits) {
    const Attributes& a = types.attributes;
    return dispatchSlots<2>(
        types, chosen(traits, {"ops/sgd", kSlots}, {"ops/sgd_few", kFewSlots}), {readInput(factorInput(types))},
        {pushFloat(a.number("momentum")), pushFloat(a.number("decay")), pushFloat(a.number("rateFactor"))}, true);
}

void referenceAccumulate(const ReferenceCall& call) {
    for (size_t tensor = 0; tensor < call.outputs.size(); ++tensor)
        for (int64_t i = 0; i < call.outputs[tensor].shape.paddedElements(); ++i) {
            double& state = call.outputs[tensor].data[i];
            state =
                (call.step[StepScalar::MicroStep] == 0 ? 0 : state) + call.inputs[call.outputs.size() + tensor].data[i];
        }
}

std::vector<Dispatch> dispatchAccumulate(const OpTypes& types, const KernelTraits& traits) {
    return dispatchSlots<1>(types, chosen(traits, {"ops/accumulate", kSlots}, {"ops/accumulate_few", kFewSlots}), {},
                            {}, false);
}

/// A kernel that calls body(run, tensor, first, count) for pieces of each tensor, which threads share.
template <size_t states, typename Body> HostKernel overTensors(const OpTypes& types, Body body) {
    struct Piece {
        size_t tensor;
        int64_t first, count;
    };
    constexpr int64_t kFloats = 1 << 15; // of a piece
    std::vector<Piece> pieces;
    for (size_t tensor = 0; tensor < types.outputs.size() / states; ++tensor) {
        const int64_t all = types.outputs[tensor * states].shape.paddedElements();
        for (int64_t first = 0; first < all; first += kFloats)
            pieces.push_back({tensor, first, std::min(kFloats, all - first)});
    }
    return [=](const HostRun& run) {
        run.pool.ranges(static_cast<int64_t>(pieces.size()), 4, 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const Piece& piece = pieces[static_cast<size_t>(i)];
                body(run, piece.tensor, piece.first, piece.count);
            }
        });
    };
}

HostKernel hostAdam(const OpTypes& types) {
    const auto number = [&](std::string_view name) { return static_cast<float>(types.attributes.number(name)); };
    const host::AdamStep step{.beta1 = number("beta1"),
                              .beta2 = number("beta2"),
                              .epsilon = number("epsilon"),
                              .isDecoupled = types.attributes.flag("isDecoupled")};
    std::vector<float> decays;
    for (size_t output = 0; output < types.outputs.size(); output += 3)
        decays.push_back(static_cast<float>(decayOf(types.attributes, types.outputs[output].shape)));
    return overTensors<3>(
        types, [=, rateFactor = number("rateFactor")](const HostRun& run, size_t tensor, int64_t first, int64_t count) {
            if (run.inputs.back()[0] < 0) return;
            host::AdamStep now = step;
            now.decay = decays[tensor];
            now.rate = static_cast<float>(run.step.number(StepScalar::LearningRate)) * rateFactor;
            now.momentCorrection = static_cast<float>(run.step.number(StepScalar::MomentCorrection));
            now.varianceCorrection = static_cast<float>(run.step.number(StepScalar::VarianceCorrection));
            now.factor = run.inputs.back()[0];
            host::adam(now, count, run.inputs[run.outputs.size() + tensor] + first, run.outputs[tensor * 3] + first,
                       run.outputs[tensor * 3 + 1] + first, run.outputs[tensor * 3 + 2] + first);
        });
}

HostKernel hostSgd(const OpTypes& types) {
    const auto number = [&](std::string_view name) { return static_cast<float>(types.attributes.number(name)); };
    std::vector<float> decays;
    for (size_t output = 0; output < types.outputs.size(); output += 2)
        decays.push_back(static_cast<float>(decayOf(types.attributes, types.outputs[output].shape)));
    return overTensors<2>(types, [=, momentum = number("momentum"), rateFactor = number("rateFactor")](
                                     const HostRun& run, size_t tensor, int64_t first, int64_t count) {
        if (run.inputs.back()[0] < 0) return;
        host::sgd(momentum, run.inputs.back()[0], decays[tensor],
                  static_cast<float>(run.step.number(StepScalar::LearningRate)) * rateFactor, count,
                  run.inputs[run.outputs.size() + tensor] + first, run.outputs[tensor * 2] + first,
                  run.outputs[tensor * 2 + 1] + first);
    });
}

HostKernel hostAccumulate(const OpTypes& types) {
    return overTensors<1>(types, [](const HostRun& run, size_t tensor, int64_t first, int64_t count) {
        const float* gradient = run.inputs[run.outputs.size() + tensor] + first;
        float* state = run.outputs[tensor] + first;
        if (run.step[StepScalar::MicroStep] == 0)
            std::copy_n(gradient, count, state);
        else
            host::add(count, state, gradient, state);
    });
}

/// Adds updates with `states` tensors per gradient, and optionally a factor. @return the updated tensors
std::vector<Tensor> update(const Op& op, std::vector<Tensor> states, std::span<const Tensor> gradients,
                           std::optional<Tensor> factor, const Attributes& attributes = {}) {
    const size_t count = states.size();
    states.insert(states.end(), gradients.begin(), gradients.end());
    if (factor) states.push_back(*factor);
    Graph& graph = *states[0].graph;
    const Tensor first = graph.add(op, std::move(states), attributes);
    std::vector<Tensor> result;
    for (uint32_t output = 0; output < count; ++output) result.push_back({first.graph, first.node, output});
    return result;
}

} // namespace

const Op kSquareNorms{.name = "square_norms",
                      .infer = inferSquareNorms,
                      .reference = referenceSquareNorms,
                      .dispatch = dispatchSquareNorms,
                      .host = hostSquareNorms};
const Op kClipFactor{
    .name = "clip_factor", .infer = inferClip, .reference = referenceClip, .dispatch = dispatchClip, .host = hostClip};
const Op kAdam{.name = "adam",
               .infer = inferUpdate<3, true>,
               .reference = referenceAdam,
               .dispatch = dispatchAdam,
               .host = hostAdam,
               .aliasOf = aliasOwn,
               .writesInPlace = true};
const Op kSgd{.name = "sgd",
              .infer = inferUpdate<2, true>,
              .reference = referenceSgd,
              .dispatch = dispatchSgd,
              .host = hostSgd,
              .aliasOf = aliasOwn,
              .writesInPlace = true};
const Op kAccumulate{.name = "accumulate",
                     .infer = inferUpdate<1, false>,
                     .reference = referenceAccumulate,
                     .dispatch = dispatchAccumulate,
                     .host = hostAccumulate,
                     .aliasOf = aliasOwn,
                     .writesInPlace = true};

Tensor squareNorms(std::span<const Tensor> tensors) {
    return tensors[0].graph->add(kSquareNorms, {tensors.begin(), tensors.end()});
}

Clip clipFactor(Tensor squares, double maximum, bool refusesOverflow) {
    const Tensor norm = squares.graph->add(kClipFactor, {squares},
                                           {{"maximum", maximum}, {"refusesOverflow", refusesOverflow ? 1 : 0}});
    return {norm, {norm.graph, norm.node, 1}};
}

std::vector<Tensor> adamUpdate(std::span<const Tensor> states, std::span<const Tensor> gradients, Tensor factor,
                               const AdamOptions& options) {
    return update(kAdam, {states.begin(), states.end()}, gradients, factor,
                  {{"beta1", options.beta1},
                   {"beta2", options.beta2},
                   {"epsilon", options.epsilon},
                   {"decay", options.decay},
                   {"isDecoupled", options.isDecoupled ? 1 : 0},
                   {"rateFactor", options.rateFactor}});
}

std::vector<Tensor> sgdUpdate(std::span<const Tensor> states, std::span<const Tensor> gradients, Tensor factor,
                              double momentum, double decay, double rateFactor) {
    return update(kSgd, {states.begin(), states.end()}, gradients, factor,
                  {{"momentum", momentum}, {"decay", decay}, {"rateFactor", rateFactor}});
}

std::vector<Tensor> accumulate(std::span<const Tensor> states, std::span<const Tensor> gradients) {
    return update(kAccumulate, {states.begin(), states.end()}, gradients, {});
}

} // namespace attn
