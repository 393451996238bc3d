#include "engine/ops/gradient.h"

#include "engine/core/error.h"
#include "engine/graph/op.h"
#include "engine/ops/definitions.h"
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

namespace {

/// Gives the rules of gradients each node, or the copy that the backward pass computes in its place.
class StandIns {
public:
    StandIns(Graph& graph, uint32_t nodes) : graph_(graph), ids_(nodes) { std::iota(ids_.begin(), ids_.end(), 0u); }

    Tensor of(Tensor tensor) const { return {&graph_, ids_[tensor.node], tensor.output}; }
    std::vector<Tensor> of(const std::vector<Tensor>& tensors) const {
        std::vector<Tensor> result;
        std::ranges::transform(tensors, std::back_inserter(result), [this](Tensor each) { return of(each); });
        return result;
    }
    /// Adds the nodes of a range a second time, where the backward pass needs them next.
    void redo(const Recomputed& range) {
        if (!range.reversible) return copy(range.nodes);
        const Reversible& function = *range.reversible;
        const Tensor input = function.undo(of(function.output), [&](Tensor argument) {
            ids_[function.argument.node] = argument.node;
            copy(range.nodes);
            return of(function.result);
        });
        ids_[function.input.node] = input.node;
    }
    /// The first node after those that redo() copies.
    static uint32_t endOf(const Recomputed& range) {
        return range.reversible ? range.reversible->output.node + 1 : range.nodes.end;
    }

private:
    void copy(NodeRange nodes) {
        for (uint32_t id = nodes.first; id < nodes.end; ++id) {
            const Node node = graph_.node(id); // a copy: adding moves nodes
            if (node.kind == NodeKind::Operation)
                ids_[id] = graph_.add(*node.op, of(node.inputs), node.attributes).node;
        }
    }

    Graph& graph_;
    std::vector<uint32_t> ids_;
};

} // namespace

Tensor stopLearning(Tensor x) { return x.graph->add(kStopGradient, {x}, {{"onlyInTraining", 1}}); }

std::vector<Tensor> gradient(Tensor loss, std::span<const Tensor> sources, const GradientOptions& options) {
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
    StandIns standIns(graph, loss.node + 1);
    for (uint32_t id = loss.node + 1; id-- > 0;) {
        for (const Recomputed& range : options.recomputed)
            if (id + 1 == StandIns::endOf(range)) standIns.redo(range);
        if (!depends[id] || graph.node(id).kind != NodeKind::Operation) continue;
        const Node node = graph.node(id); // a copy: rules add nodes
        std::vector<Tensor> outputs, outputGradients;
        bool flows = false;
        for (uint32_t output = 0; output < node.outputs.size(); ++output) {
            outputs.push_back(standIns.of({&graph, id, output}));
            outputGradients.push_back(find(id, output));
            flows = flows || outputGradients.back();
        }
        if (!flows) continue;
        if (node.op->gradient == nullptr)
            throw Error({.what = fmt::format("\"{}\" has no gradient", node.op->name), .where = node.name, .hint = {}});
        if (graph.keeper() != nullptr) graph.keeper()->forget();
        const bool flowsOn =
            node.op == &kStopGradient && !options.isForTraining && node.attributes.flag("onlyInTraining");
        const std::vector<Tensor> inputs = standIns.of(node.inputs),
                                  inputGradients = flowsOn ? outputGradients
                                                           : node.op->gradient({graph, node.attributes, inputs, outputs,
                                                                                outputGradients});
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
