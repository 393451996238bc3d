#include "engine/graph/graph.h"

#include "engine/core/error.h"
#include "engine/graph/op.h"

#include <fmt/format.h>

namespace attn {

const TensorType& Tensor::type() const { return graph->node(node).outputs[output]; }

double Attributes::number(std::string_view name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) throw Error(fmt::format("attribute \"{}\" is missing", name));
    return found->second;
}

Tensor Graph::source(NodeKind kind, std::string name, TensorType type) {
    if (const auto found = sources_.find(name); found != sources_.end()) {
        const Node& existing = nodes_[found->second.node];
        if (existing.kind != kind || !(existing.outputs[0] == type))
            throw Error({.what = fmt::format("asked for {} but it is declared as {}", type.shape.text(),
                                             existing.outputs[0].shape.text()),
                         .where = name,
                         .hint = "give every tensor its own name"});
        return found->second;
    }
    type.shape.requireUsable(name);
    const Tensor tensor{this, size(), 0};
    nodes_.push_back(
        {.kind = kind, .op = nullptr, .attributes = {}, .inputs = {}, .outputs = {std::move(type)}, .name = name});
    sources_.emplace(std::move(name), tensor);
    return tensor;
}

Tensor Graph::input(std::string name, TensorType type) {
    return source(NodeKind::Input, std::move(name), std::move(type));
}
Tensor Graph::parameter(std::string name, Shape shape) {
    return source(NodeKind::Parameter, std::move(name),
                  {.shape = std::move(shape), .dtype = DType::F32, .liveRows = {}});
}
Tensor Graph::state(std::string name, TensorType type) {
    return source(NodeKind::State, std::move(name), std::move(type));
}

Tensor Graph::add(const Op& op, std::vector<Tensor> inputs, Attributes attributes, std::string name) {
    std::vector<TensorType> types;
    for (const Tensor& input : inputs) {
        if (input.graph != this)
            throw Error({.what = "an input belongs to another graph", .where = std::string(op.name), .hint = {}});
    }
    if (keeper_) keeper_->read(op, attributes, inputs);
    for (const Tensor& input : inputs) types.push_back(input.type());
    std::vector<TensorType> outputs = op.infer(types, attributes);
    if (name.empty()) name = fmt::format("{}#{}", op.name, size());
    for (const TensorType& output : outputs) output.shape.requireUsable(name);
    nodes_.push_back({.kind = NodeKind::Operation,
                      .op = &op,
                      .attributes = std::move(attributes),
                      .inputs = std::move(inputs),
                      .outputs = std::move(outputs),
                      .name = std::move(name)});
    const Tensor result{this, size() - 1, 0};
    if (keeper_) keeper_->added(result);
    return result;
}

void Graph::edit(std::set<std::string> names, Editor editor) {
    changed_ = std::move(names);
    editor_ = std::move(editor);
}

Tensor Graph::probe(Tensor tensor, std::string name, std::string axes) {
    if (isChanged(name)) tensor = editor_(tensor, name);
    if (!probes_.emplace(name, Probe{tensor, std::move(axes)}).second)
        throw Error({.what = "this probe exists already", .where = name, .hint = "probe names are unique paths"});
    probeOrder_.push_back(std::move(name));
    return tensor;
}

} // namespace attn
