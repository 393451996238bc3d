#include "engine/training/forward_copy.h"

#include "engine/ops/mixed_precision.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace attn {

Tensor sourceLike(const Node& node, Graph& to, const std::string& prefix) {
    const std::string name = prefix + node.name;
    switch (node.kind) {
    case NodeKind::Parameter:
        return to.parameter(name, node.outputs[0].shape);
    case NodeKind::State:
        return to.state(name, node.outputs[0]);
    default:
        return to.input(name, node.outputs[0]);
    }
}

Objective::Forward copyOf(Objective::Forward forward, const std::shared_ptr<Graph>& to,
                          const std::function<Tensor(const Node& source)>& source) {
    const Graph& from = *forward.graph;
    std::vector<Tensor> copies;  // of each node's first output
    std::vector<uint32_t> first; // node of the new graph that each node's copy begins with
    const auto copied = [&](Tensor tensor) {
        return tensor ? Tensor{to.get(), copies[tensor.node].node, tensor.output} : tensor;
    };
    for (uint32_t id = 0; id < from.size(); ++id) {
        const Node& node = from.node(id);
        first.push_back(to->size());
        if (node.kind == NodeKind::Operation) {
            std::vector<Tensor> inputs;
            std::ranges::transform(node.inputs, std::back_inserter(inputs), copied);
            copies.push_back(to->add(*node.op, std::move(inputs), node.attributes, node.name));
        } else {
            copies.push_back(source(node));
        }
    }
    first.push_back(to->size());
    for (NamedLoss& loss : forward.losses)
        for (Tensor* each : {&loss.prediction, &loss.teacher}) *each = copied(*each);
    for (auto& [name, next] : forward.updates) next = copied(next);
    const auto moved = [&](NodeRange nodes) { return NodeRange{.first = first[nodes.first], .end = first[nodes.end]}; };
    for (NodeRange& block : forward.blocks) block = moved(block);
    for (auto& [nodes, reversible] : forward.partTensors.recomputed) {
        nodes = moved(nodes);
        if (!reversible) continue;
        for (Tensor* each : {&reversible->input, &reversible->output, &reversible->argument, &reversible->result})
            *each = copied(*each);
    }
    for (Tensor& penalty : forward.partTensors.penalties) penalty = copied(penalty);
    for (auto& [name, next] : forward.partTensors.averages) next = copied(next);
    forward.graph = to;
    return forward;
}

Objective::Forward beside(const std::shared_ptr<Graph>& graph, Objective::Forward other, const std::string& prefix) {
    other = copyOf(std::move(other), graph, [&](const Node& source) {
        const bool isOfBatch = source.kind == NodeKind::Input && source.name.find('.') == std::string::npos;
        return sourceLike(source, *graph, isOfBatch ? "" : prefix);
    });
    for (FlowConstant& constant : other.partTensors.constants) constant.name = prefix + constant.name;
    return other;
}

Objective::Forward in16Bits(Objective::Forward forward, DType dtype) {
    const auto graph = std::make_shared<Graph>();
    graph->keepThrough(keeperIn16Bits(*graph, dtype));
    return copyOf(std::move(forward), graph, [&](const Node& source) { return sourceLike(source, *graph); });
}

} // namespace attn
