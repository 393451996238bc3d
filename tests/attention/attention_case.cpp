#include "tests/attention/attention_case.h"

#include "engine/attention/head_counts.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/attention/parts.h"
#include "engine/core/rng.h"
#include "engine/runtime/cpu_executor.h"

#include <numbers>

namespace attn::test {
namespace {

double normal(uint64_t seed, uint64_t index) {
    return std::sqrt(-2 * std::log(1 - uniform(seed, 2 * index))) *
           std::cos(2 * std::numbers::pi * uniform(seed, 2 * index + 1));
}

/// As the device sees them.
std::vector<double> draw(uint64_t seed, int64_t count, double deviation = 1, double mean = 0) {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i)
        values.push_back(static_cast<float>(mean + deviation * normal(seed, static_cast<uint64_t>(i))));
    return values;
}

} // namespace

void AttentionCase::build() {
    graph = std::make_shared<Graph>();
    values.clear();
    outputs.clear();
    const HeadCounts counts = headCounts(spec);
    heads = counts.heads;
    groups = counts.groups;
    const auto input = [&](const std::string& name, Shape shape) {
        values[name] = draw(seed * 10 + values.size(), shape.elements());
        return graph->input(name, {.shape = shape});
    };
    AttentionFlow flow{.graph = *graph,
                       .spec = spec,
                       .prefix = "attn",
                       .layer = layer,
                       .batch = batch,
                       .heads = heads,
                       .groups = groups,
                       .queries = queries,
                       .keys = keys,
                       .width = width,
                       .mayFuse = mayFuse};
    flow.q = input("q", {batch, heads, queries, width});
    flow.k = input("k", {batch, groups, keys, width});
    flow.v = input("v", {batch, groups, keys, width});
    buildAttention(flow);
    for (const FlowParameter& parameter : flow.parameters) {
        const double deviation =
            parameter.initial.kind == InitialValue::Kind::Normal ? parameter.initial.deviation : 0.3;
        values[parameter.name] = draw(seed * 100 + values.size(), parameter.shape.elements(), deviation);
        learned.push_back(parameter.name);
    }
    for (const FlowConstant& constant : flow.constants) {
        const std::vector<float> numbers = constant.values();
        values[constant.name] = {numbers.begin(), numbers.end()};
    }
    outputs["z"] = flow.z;
    if (flow.scores) outputs["scores"] = flow.scores;
    if (flow.pattern) outputs["pattern"] = flow.pattern;
    for (const auto& [name, tensor] : flow.shown) outputs[name] = tensor;
    for (const auto& [name, tensor] : flow.averages) outputs["average." + name] = tensor;
    factors = flow.factors;
    penalties = flow.penalties;
}

ReferenceFlow AttentionCase::reference(int64_t sequence) const {
    ReferenceFlow flow{.spec = spec, .layer = layer, .heads = heads, .queries = queries, .keys = keys, .width = width};
    const auto take = [&](const char* name, int64_t from, int64_t rows) {
        Dense result({heads, rows, width});
        for (int64_t h = 0; h < heads; ++h)
            for (int64_t i = 0; i < rows * width; ++i)
                result.data[static_cast<size_t>(h * rows * width + i)] =
                    values.at(name)[static_cast<size_t>(((sequence * from) + h / (heads / from)) * rows * width + i)];
        return result;
    };
    flow.q = take("q", heads, queries);
    flow.k = take("k", groups, keys);
    flow.v = take("v", groups, keys);
    for (uint32_t id = 0; id < graph->size(); ++id) {
        const Node& node = graph->node(id);
        if (node.kind != NodeKind::Parameter) continue;
        Dense dense(node.outputs.front().shape.extents());
        dense.data = values.at(node.name);
        const size_t begin = node.name.find('.') + 1; // "attn.NAME", constants "attn.NAME#6x6"
        flow.parameters[node.name.substr(begin, node.name.find('#') - begin)] = std::move(dense);
    }
    referenceAttention(flow);
    return flow;
}

std::map<std::string, std::vector<double>> AttentionCase::onHost() const { return runOnHost(graph, values, outputs); }

std::map<std::string, std::vector<double>> runOnHost(const std::shared_ptr<Graph>& graph,
                                                     const std::map<std::string, std::vector<double>>& values,
                                                     const std::map<std::string, Tensor>& outputs) {
    const auto plan = compile(graph, outputs);
    CpuExecutor executor(plan, {.poisonArena = true});
    for (const PlannedTensor& tensor : plan->tensors)
        if (tensor.home != Home::Arena) executor.set(tensor.name, values.at(tensor.name));
    executor.run({});
    std::map<std::string, std::vector<double>> results;
    for (const auto& [name, tensor] : outputs) results[name] = executor.get(name);
    return results;
}

std::map<std::string, std::vector<double>> onDevice(TestDevice& device, const AttentionCase& test,
                                                    const std::map<std::string, Tensor>& outputs) {
    const auto plan = compile(test.graph, outputs);
    TensorStore store(device);
    reserveSources(store, *plan);
    GpuExecutor executor(device, store, plan);
    for (const PlannedTensor& tensor : plan->tensors) {
        if (tensor.home == Home::Parameter) writeDense(store, tensor.name, test.values.at(tensor.name));
        if (tensor.home != Home::Input) continue;
        const Shape& shape = tensor.type.shape;
        const std::span<float> rows = executor.input(tensor.name);
        for (int64_t row = 0; row < shape.rows(); ++row)
            for (int64_t c = 0; c < shape.columns(); ++c)
                rows[static_cast<size_t>(row * shape.rowStride() + c)] =
                    static_cast<float>(test.values.at(tensor.name)[static_cast<size_t>(row * shape.columns() + c)]);
    }
    executor.run({});
    std::map<std::string, std::vector<double>> results;
    for (const auto& [name, tensor] : outputs) results[name] = denseResult(executor, name);
    return results;
}

AttentionSpec specWith(const Part& part) {
    AttentionSpec spec;
    spec.set(Slot::Heads, "multi_head", std::array{2.0});
    if (part.slot == Slot::Mask)
        spec.mask = MaskExpression::parse(termText(part, initialValues(part)));
    else {
        spec.set(part.slot, part.id, part.slot == Slot::Heads ? std::vector{2.0} : initialValues(part));
        const bool isFullOnly = part.mix.masks == MaskSupport::FullOnly;
        spec.mask = MaskExpression::parse(isFullOnly ? "full" : "causal");
    }
    for (int round = 0; round < 8; ++round) {
        const auto problems = check(spec, {.headWidth = 4});
        if (problems.empty()) break;
        spec = *problems.front().nearest;
    }
    return spec;
}

} // namespace attn::test
