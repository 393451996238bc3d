#include "engine/core/rng.h"
#include "engine/host/pool.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"
#include "engine/ops/training_ops.h"

#include <cmath>

namespace attn {
namespace {

uint32_t threshold(const Attributes& attributes) {
    return static_cast<uint32_t>(std::min(attributes.number("rate") * 0x1p32, 0x1p32 - 1));
}
double factor(const Attributes& attributes) { return 1 / (1 - attributes.number("rate")); }

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, 1, "dropout");
    requireWhole(inputs, "dropout");
    const double rate = attributes.number("rate");
    require(rate >= 0 && rate < 1, "dropout", fmt::format("the rate {} must be at least 0 and below 1", rate));
    return {inputs[0]};
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &y = call.outputs[0];
    const auto site = static_cast<uint32_t>(call.attributes.integer("site"));
    for (int64_t i = 0; i < x.shape.paddedElements(); ++i) {
        const auto words = philox({static_cast<uint32_t>(i / 4), call.step[StepScalar::Step], site, 0},
                                  {call.step[StepScalar::Seed], 0});
        y.data[i] = words.at(static_cast<size_t>(i % 4)) >= threshold(call.attributes)
                        ? x.data[i] * factor(call.attributes)
                        : 0;
    }
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits&) {
    return {{.shader = "ops/dropout",
             .bindings = {load4(0), writeOutput(0)},
             .push = {u32(types.outputs[0].shape.paddedElements() / 4), u32(types.attributes.integer("site")),
                      threshold(types.attributes), pushFloat(factor(types.attributes))},
             .x = gridPerVec4(types.outputs[0]).x,
             .y = gridPerVec4(types.outputs[0]).y}};
}

HostKernel hostKernel(const OpTypes& types) {
    const auto site = static_cast<uint32_t>(types.attributes.integer("site")), least = threshold(types.attributes);
    const auto by = static_cast<float>(factor(types.attributes));
    return [=, vectors = types.outputs[0].shape.paddedElements() / 4](const HostRun& run) {
        run.pool.ranges(vectors, 256, 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const auto words = philox({static_cast<uint32_t>(i), run.step[StepScalar::Step], site, 0},
                                          {run.step[StepScalar::Seed], 0});
                for (size_t lane = 0; lane < 4; ++lane) {
                    const int64_t at = i * 4 + static_cast<int64_t>(lane);
                    run.outputs[0][at] = words.at(lane) >= least ? run.inputs[0][at] * by : 0;
                }
            }
        });
    };
}

/// The gradient drops the same elements, because the draw depends on the site and not on the node.
std::vector<Tensor> gradient(const GradientCall& call) {
    return {call.graph.add(kDropout, {call.outputGradients[0]}, call.attributes)};
}

} // namespace

const Op kDropout{.name = "dropout",
                  .infer = infer,
                  .reference = reference,
                  .dispatch = dispatch,
                  .host = hostKernel,
                  .gradient = gradient};

Tensor dropout(Tensor x, double rate, uint32_t site) {
    return x.graph->add(kDropout, {x}, {{"rate", rate}, {"site", static_cast<double>(site)}});
}

} // namespace attn
