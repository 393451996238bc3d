#include "engine/training/forward_copy.h"

#include "engine/ops/mixed_precision.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace attn {

Objective::Forward copyOf(Objective::Forward forward, const std::shared_ptr<Graph>& to,
                          const std::function<Tensor(const Node& parameter)>& parameter) {
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
        } else if (node.kind == NodeKind::Parameter) {
            copies.push_back(parameter(node));
        } else {
            copies.push_back(node.kind == NodeKind::Input ? to->input(node.name, node.outputs[0])
                                                          : to->state(node.name, node.outputs[0]));
        }
    }
    first.push_back(to->size());
    for (NamedLoss& loss : forward.losses) loss.logits = copied(loss.logits);
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

Objective::Forward in16Bits(Objective::Forward forward, DType dtype) {
    const auto graph = std::make_shared<Graph>();
    graph->keepThrough(keeperIn16Bits(*graph, dtype));
    return copyOf(std::move(forward), graph,
                  [&](const Node& parameter) { return graph->parameter(parameter.name, parameter.outputs[0].shape); });
}

} // namespace attn
