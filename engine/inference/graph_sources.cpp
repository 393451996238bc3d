#include "engine/inference/graph_sources.h"

#include "engine/models/model_builder.h"

namespace attn {

int64_t parameterCount(const Graph& graph) {
    int64_t count = 0;
    for (const Node* node : storedParameters(graph)) count += node->outputs[0].shape.elements();
    return count;
}

std::vector<std::pair<std::string, Shape>> sourcesOf(const Graph& graph, NodeKind kind) {
    std::vector<std::pair<std::string, Shape>> result;
    for (uint32_t id = 0; id < graph.size(); ++id)
        if (graph.node(id).kind == kind) result.emplace_back(graph.node(id).name, graph.node(id).outputs[0].shape);
    return result;
}

std::set<std::string> compactParameters(const Graph& graph) {
    std::set<std::string> all, others;
    for (uint32_t id = 0; id < graph.size(); ++id) {
        const Node& node = graph.node(id);
        for (size_t input = 0; input < node.inputs.size(); ++input) {
            const Node& from = graph.node(node.inputs[input].node);
            if (from.kind == NodeKind::Parameter)
                (node.op->compactInput == static_cast<int>(input) ? all : others).insert(from.name);
        }
    }
    for (const std::string& name : others) all.erase(name);
    return all;
}

TensorStore::StorageOf storageRule(const Graph& graph, Storage storage) {
    return [compact = compactParameters(graph), storage](const std::string& name, const Shape& shape) {
        return compact.contains(name) ? storageFor(storage, shape.columns()) : Storage::F32;
    };
}

std::vector<std::pair<std::string, Shape>> withRows(std::vector<std::pair<std::string, Shape>> tensors, int64_t rows) {
    for (auto& [name, shape] : tensors) {
        std::vector<int64_t> extents = shape.extents();
        extents.front() = rows;
        shape = Shape(extents);
    }
    return tensors;
}

uint64_t paddedBytes(const std::vector<std::pair<std::string, Shape>>& tensors) {
    uint64_t bytes = 0;
    for (const auto& [name, shape] : tensors) bytes += static_cast<uint64_t>(shape.paddedElements()) * 4;
    return bytes;
}

void writeConstants(TensorStore& store, const Plan& plan, const PartTensors& needs) {
    const auto constants = usedConstants(plan, needs);
    std::vector<std::pair<std::string, Shape>> room;
    for (const FlowConstant* constant : constants) room.emplace_back(constant->name, constant->shape);
    store.reserve(room);
    for (const FlowConstant* constant : constants) store.writeDense(constant->name, constant->values());
}

} // namespace attn
