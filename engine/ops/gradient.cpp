#include "engine/ops/gradient.h"

#include "engine/core/error.h"
#include "engine/graph/op.h"
#include "engine/ops/gradient_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace attn {

Tensor addTo(Tensor sum, Tensor term) {
    if (const Tensor joined = joinedProducts(sum, term)) return joined;
    const Node maker = term.graph->node(term.node); // a copy: adding may move nodes
    if (maker.op == nullptr || !maker.op->takesResidual || maker.attributes.flag("residual")) return add(sum, term);
    std::vector<Tensor> inputs = maker.inputs;
    inputs.push_back(sum);
    Attributes attributes = maker.attributes;
    attributes.set("residual", 1);
    return term.graph->add(*maker.op, std::move(inputs), attributes);
}

std::vector<Tensor> gradient(Tensor loss, std::span<const Tensor> sources, std::span<const NodeRange> recomputed) {
    Graph& graph = *loss.graph;
    if (loss.shape().elements() != 1)
        throw Error({.what = fmt::format("only a single number has a gradient, not {}", loss.shape().text()),
                     .where = graph.node(loss.node).name,
                     .hint = "sum it first"});

    std::vector<bool> depends(loss.node + 1, false); // on a source
    for (const Tensor& source : sources)
        if (source.node <= loss.node) depends[source.node] = true;
    for (uint32_t id = 0; id <= loss.node; ++id)
        for (const Tensor& input : graph.node(id).inputs) depends[id] = depends[id] || depends[input.node];

    std::map<std::pair<uint32_t, uint32_t>, Tensor> flowing; // by node and output
    flowing[{loss.node, loss.output}] = fill(graph, loss.shape(), 1);
    const auto find = [&](uint32_t node, uint32_t output) {
        const auto found = flowing.find({node, output});
        return found == flowing.end() ? Tensor{} : found->second;
    };
    std::vector<uint32_t> standIn(loss.node + 1); // what the rules see for a node: itself, or its copy
    std::iota(standIn.begin(), standIn.end(), 0u);
    const auto seen = [&](Tensor tensor) { return Tensor{&graph, standIn[tensor.node], tensor.output}; };
    const auto seenAll = [&](const std::vector<Tensor>& tensors) {
        std::vector<Tensor> result;
        std::ranges::transform(tensors, std::back_inserter(result), seen);
        return result;
    };
    for (uint32_t id = loss.node + 1; id-- > 0;) {
        for (const NodeRange& range : recomputed)
            for (uint32_t copied = range.first; id + 1 == range.end && copied < range.end; ++copied) {
                const Node node = graph.node(copied);
                if (node.kind == NodeKind::Operation)
                    standIn[copied] = graph.add(*node.op, seenAll(node.inputs), node.attributes).node;
            }
        if (!depends[id] || graph.node(id).kind != NodeKind::Operation) continue;
        const Node node = graph.node(id); // a copy: rules add nodes
        std::vector<Tensor> outputs, outputGradients;
        bool flows = false;
        for (uint32_t output = 0; output < node.outputs.size(); ++output) {
            outputs.push_back(seen({&graph, id, output}));
            outputGradients.push_back(find(id, output));
            flows = flows || outputGradients.back();
        }
        if (!flows) continue;
        if (node.op->gradient == nullptr)
            throw Error({.what = fmt::format("\"{}\" has no gradient", node.op->name), .where = node.name, .hint = {}});
        const std::vector<Tensor> inputs = seenAll(node.inputs),
                                  inputGradients =
                                      node.op->gradient({graph, node.attributes, inputs, outputs, outputGradients});
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const Tensor& input = node.inputs[i];
            if (!inputGradients[i] || !depends[input.node]) continue;
            Tensor& sum = flowing[{input.node, input.output}];
            sum = sum ? addTo(sum, inputGradients[i]) : inputGradients[i];
        }
    }
    std::vector<Tensor> result;
    for (const Tensor& source : sources) result.push_back(find(source.node, source.output));
    return result;
}

} // namespace attn
