#include "tests/ops/on_host.h"

#include "engine/graph/plan.h"

#include <bit>
#include <limits>

namespace attn::test {
namespace {

int64_t rowsInUse(const TensorType& type, const StepParams& step) {
    const int64_t extent = type.shape[0];
    return type.shape.rows() / extent * (type.liveRows ? std::min<int64_t>(extent, step[*type.liveRows]) : extent);
}

} // namespace

Results runOnHost(const Case& test, host::Pool& pool) {
    const auto plan = compile(test.graph, test.outputs);
    std::vector<float> arena(plan->arenaBytes / 4 + 64, std::numeric_limits<float>::quiet_NaN());
    std::map<std::string, std::vector<float>> sources;
    for (const PlannedTensor& tensor : plan->tensors) {
        if (tensor.home == Home::Arena || sources.contains(tensor.name)) continue; // or a view of it
        const Shape& shape = tensor.type.shape;
        const std::vector<double>& given = test.values.at(tensor.name);
        std::vector<float>& to = sources[tensor.name];
        to.assign(static_cast<size_t>(shape.paddedElements()), 0.0f);
        for (int64_t i = 0; i < shape.elements(); ++i) {
            const double value = given[static_cast<size_t>(i)];
            to[static_cast<size_t>(i / shape.columns() * shape.rowStride() + i % shape.columns())] =
                tensor.type.dtype == DType::I32 ? std::bit_cast<float>(static_cast<int32_t>(value))
                                                : static_cast<float>(value);
        }
    }
    const auto memoryOf = [&](uint32_t index) {
        const PlannedTensor& tensor = plan->tensors[index];
        return (tensor.home == Home::Arena ? arena.data() : sources.at(tensor.name).data()) + tensor.byteOffset / 4;
    };
    for (const PlannedOp& op : plan->ops) {
        if (op.aliasOnly) continue;
        const Node& node = plan->graph->node(op.node);
        std::vector<TensorType> in, out;
        std::vector<float*> inputs, outputs;
        for (uint32_t i : op.inputs) in.push_back(plan->tensors[i].type), inputs.push_back(memoryOf(i));
        for (uint32_t i : op.outputs) out.push_back(plan->tensors[i].type), outputs.push_back(memoryOf(i));
        node.op->host({node.attributes, in, out})({inputs, outputs, test.step, pool});
    }
    Results results;
    for (const auto& [name, tensor] : test.outputs) {
        const TensorType& type = tensor.type();
        const float* from = memoryOf(plan->results.at(name));
        for (int64_t row = 0; row < rowsInUse(type, test.step); ++row)
            results[name].insert(results[name].end(), from + row * type.shape.rowStride(),
                                 from + row * type.shape.rowStride() + type.shape.columns());
    }
    return results;
}

bool haveSameBits(const Results& a, const Results& b) {
    const auto bitsOf = [](const Results& results) {
        std::vector<uint32_t> bits;
        for (const auto& [name, list] : results)
            for (const float value : list) bits.push_back(std::bit_cast<uint32_t>(value));
        return bits;
    };
    return bitsOf(a) == bitsOf(b);
}

} // namespace attn::test
