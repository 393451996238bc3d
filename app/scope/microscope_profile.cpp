#include "app/scope/microscope_parts.h"
#include "engine/core/error.h"
#include "engine/gpu/pipeline_facts.h"
#include "engine/runtime/kernel_library.h"
#include "shaders/embedded_shaders.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace attn {
namespace {

constexpr int kRuns = 5; // the median counts

/// A type with only the live rows of this step.
TensorType liveType(TensorType type, const StepParams& step) {
    if (!type.liveRows) return type;
    std::vector<int64_t> extents = type.shape.extents();
    extents[0] = std::min<int64_t>(extents[0], step[*type.liveRows]);
    type.shape = Shape(extents);
    return type;
}

struct OpTypesOf {
    std::vector<TensorType> inputs, outputs;
    OpTypesOf(const Plan& plan, const PlannedOp& op) {
        for (uint32_t input : op.inputs) inputs.push_back(plan.tensors[input].type);
        for (uint32_t output : op.outputs) outputs.push_back(plan.tensors[output].type);
    }
    OpTypesOf(const Plan& plan, const PlannedOp& op, const StepParams& step) : OpTypesOf(plan, op) {
        for (TensorType& type : inputs) type = liveType(type, step);
        for (TensorType& type : outputs) type = liveType(type, step);
    }
};

std::vector<Dispatch> dispatchesOf(const Plan& plan, const PlannedOp& op, const KernelTraits& traits) {
    const Node& node = plan.graph->node(op.node);
    const OpTypesOf types(plan, op);
    return node.op->dispatch({node.attributes, types.inputs, types.outputs}, traits);
}

/// Bytes that an op moves if it accesses each value once; 0 if it reads selected rows or writes a part in place.
double bytesOf(const Plan& plan, const PlannedOp& op, const OpTypesOf& types) {
    const std::string_view name = plan.graph->node(op.node).op->name;
    const auto sizeOf = [](const TensorType& type) { return 4.0 * static_cast<double>(type.shape.elements()); };
    double bytes = 0;
    if (name == "embedding" || name == "take") // reads as many rows of a table as it writes
        return sizeOf(types.inputs.front()) * (name == "embedding" ? 1 : 0) + 2 * sizeOf(types.outputs.front());
    if (plan.graph->node(op.node).op->writesInPlace) { // copies the value to its place
        for (size_t i = 1; i < types.inputs.size(); ++i) bytes += 2 * sizeOf(types.inputs[i]);
        return bytes;
    }
    std::set<uint32_t> seen;
    for (size_t i = 0; i < types.inputs.size(); ++i)
        if (seen.insert(op.inputs[i]).second) bytes += sizeOf(types.inputs[i]);
    for (const TensorType& type : types.outputs) bytes += sizeOf(type);
    return bytes;
}

/// The name to show for an op: its hook, else the parameter or cache that it uses.
std::string pathOf(const Plan& plan, const PlannedOp& op) {
    for (const auto& [name, probe] : plan.graph->probes())
        if (probe.tensor.node == op.node) return name;
    for (const auto* tensors : {&op.inputs, &op.outputs})
        for (uint32_t index : *tensors)
            if (const PlannedTensor& tensor = plan.tensors[index];
                tensor.home == Home::Parameter || tensor.home == Home::State)
                return tensor.name;
    return plan.graph->node(op.node).name;
}

double medianOf(std::vector<double> values) {
    std::ranges::sort(values);
    return values.empty() ? 0 : values[values.size() / 2];
}

} // namespace

Microscope::Timed& Microscope::timedStep(Phase phase) {
    requireTokens(phase == Phase::Decode ? 1 : 2);
    const size_t all = model_.tokens().size();
    // The model runs the last token separately, and the tokens before it in steps of several sizes.
    const bool isDecode = phase == Phase::Decode;
    const int64_t queries = isDecode ? 1 : model_.bucketFor(std::max<size_t>(all - 1, 2));
    Timed& timed = timed_[queries];
    timed.first = isDecode ? all - 1 : 0;
    timed.count = isDecode ? 1 : std::min(all - 1, static_cast<size_t>(queries));
    if (timed.executor && timed.edited == model_.editedHooks()) return timed;
    timed.executor = nullptr; // its memory first
    timed.edited = model_.editedHooks();
    const ModelGraph graph = model_.stepGraph(queries);
    std::map<std::string, Tensor> outputs(graph.updates.begin(), graph.updates.end());
    if (isDecode) outputs.emplace("next_logits", graph.nextLogits);
    timed.plan = compile(graph.graph, outputs);
    timed.executor = std::make_unique<GpuExecutor>(model_.device(), model_.store(), timed.plan,
                                                   GpuExecutorOptions{.profiles = true});
    return timed;
}

std::shared_ptr<const Plan> Microscope::plan(Phase phase) { return timedStep(phase).plan; }

StepProfile Microscope::profile(Phase phase) {
    Timed& timed = timedStep(phase);
    const StepParams step =
        model_.writeStep(*timed.executor, timed.first, std::span(model_.tokens()).subspan(timed.first, timed.count));
    std::vector<std::vector<double>> runs; // [dispatch][run]
    for (int run = 0; run < kRuns; ++run) {
        timed.executor->run(step);
        const auto stretches = timed.executor->profile();
        runs.resize(stretches.size());
        for (size_t i = 0; i < stretches.size(); ++i) runs[i].push_back(stretches[i].elapsedMs);
    }
    const Plan& plan = *timed.plan;
    StepProfile profile{.plan = timed.plan, .queries = static_cast<int64_t>(timed.count), .ops = {}, .totalMs = 0};
    const KernelTraits traits = model_.device().kernelTraits();
    size_t next = 0;
    for (uint32_t index = 0; index < plan.ops.size(); ++index) {
        const PlannedOp& op = plan.ops[index];
        if (op.aliasOnly) continue;
        const Node& node = plan.graph->node(op.node);
        const auto dispatches = dispatchesOf(plan, op, traits);
        const OpTypesOf types(plan, op, step);
        OpTime& time = profile.ops.emplace_back(OpTime{
            .op = index,
            .name = std::string(node.op->name),
            .path = pathOf(plan, op),
            .shader = dispatches.empty() ? std::string() : std::string(dispatches.front().shader),
            .dispatches = static_cast<int>(dispatches.size()),
            .elapsedMs = 0,
            .operations = node.op->operations ? node.op->operations({node.attributes, types.inputs, types.outputs}) : 0,
            .bytes = bytesOf(plan, op, types)});
        for (size_t i = 0; i < dispatches.size() && next < runs.size(); ++i) time.elapsedMs += medianOf(runs[next++]);
        profile.totalMs += time.elapsedMs;
    }
    return profile;
}

std::vector<KernelUse> Microscope::kernels(const Plan& plan) const {
    const gpu::DeviceTraits& device = model_.device().context().traits();
    std::vector<KernelUse> uses;
    for (const PlannedOp& op : plan.ops) {
        if (op.aliasOnly) continue;
        for (const Dispatch& dispatch : dispatchesOf(plan, op, model_.device().kernelTraits())) {
            const auto same = std::ranges::find_if(uses, [&](const KernelUse& use) {
                return use.shader == dispatch.shader && use.specialisation == dispatch.specialisation;
            });
            if (same != uses.end()) {
                ++same->dispatches;
                continue;
            }
            const auto shaders = embeddedShaders();
            const auto shader = std::ranges::find_if(shaders, [&](const EmbeddedShader& s) {
                return s.name == dispatch.shader && s.texelInputs == device.prefersTexelInputs;
            });
            if (shader == shaders.end()) continue;
            const gpu::ComputePipeline& pipeline =
                model_.device().kernels().pipeline(dispatch, device.prefersTexelInputs);
            uses.push_back({.shader = std::string(dispatch.shader),
                            .localSize = gpu::workgroupSize(shader->spirv, dispatch.specialisation),
                            .pushBytes = pipeline.pushConstantBytes(),
                            .specialisation = dispatch.specialisation,
                            .texelInputs = device.prefersTexelInputs,
                            .dispatches = 1,
                            .facts = gpu::pipelineFacts(model_.device().context(), pipeline, shader->spirv,
                                                        dispatch.specialisation)});
        }
    }
    return uses;
}

} // namespace attn
