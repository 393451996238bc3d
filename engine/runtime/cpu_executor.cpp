#include "engine/runtime/cpu_executor.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <random>

namespace attn {
namespace {

std::atomic<uint64_t> calls{0};

std::vector<double> dense(const Shape& shape, const double* padded) {
    std::vector<double> values;
    values.reserve(static_cast<size_t>(shape.elements()));
    for (int64_t row = 0; row < shape.rows(); ++row)
        values.insert(values.end(), padded + row * shape.rowStride(),
                      padded + row * shape.rowStride() + shape.columns());
    return values;
}

} // namespace

uint64_t CpuExecutor::referenceCalls() { return calls.load(); }

CpuExecutor::CpuExecutor(std::shared_ptr<const Plan> plan, Options options)
    : plan_(std::move(plan)), options_(options),
      arena_(plan_->arenaBytes / 4, options.poisonArena ? std::numeric_limits<double>::quiet_NaN() : 0.0) {
    for (const PlannedTensor& tensor : plan_->tensors) {
        const auto elements = static_cast<size_t>(tensor.type.shape.paddedElements());
        if (isShort(tensor)) {
            auto& memory = shorts_[tensor.byteOffset];
            memory.resize(std::max(memory.size(), elements));
        } else if (tensor.home != Home::Arena) {
            if (auto& source = sources_[tensor.name]; source.empty()) // the first is the source itself, not a view
                source.resize(elements);
        }
    }
}

const PlannedTensor* CpuExecutor::sourceNamed(const std::string& name) const {
    const auto found = std::ranges::find_if(
        plan_->tensors, [&](const PlannedTensor& t) { return t.home != Home::Arena && t.name == name; });
    return found == plan_->tensors.end() ? nullptr : &*found;
}

void CpuExecutor::set(const std::string& name, std::span<const double> values) {
    const PlannedTensor* source = sourceNamed(name);
    if (source == nullptr) throw Error({.what = "the plan has no such input", .where = name});
    const Shape& shape = source->type.shape;
    if (static_cast<int64_t>(values.size()) != shape.elements())
        throw Error({.what = fmt::format("{} values do not fill {}", values.size(), shape.text()), .where = name});
    std::vector<double>& padded = sources_.at(name);
    for (int64_t row = 0; row < shape.rows(); ++row)
        std::copy_n(values.begin() + row * shape.columns(), shape.columns(), padded.begin() + row * shape.rowStride());
}

std::vector<double> CpuExecutor::get(const std::string& name) const {
    if (const auto found = plan_->results.find(name); found != plan_->results.end()) {
        return dense(plan_->tensors[found->second].type.shape, memoryOf(*this, plan_->tensors[found->second]));
    }
    const PlannedTensor* source = sourceNamed(name);
    if (source == nullptr) throw Error({.what = "the plan has no such result", .where = name});
    return dense(source->type.shape, sources_.at(name).data());
}

ReferenceTensor CpuExecutor::view(uint32_t index) {
    const PlannedTensor& tensor = plan_->tensors[index];
    return {tensor.type.shape, memoryOf(*this, tensor)};
}

void CpuExecutor::runOp(const PlannedOp& op, const StepParams& step) {
    const Node& node = plan_->graph->node(op.node);
    std::vector<ReferenceTensor> inputs, outputs;
    for (uint32_t input : op.inputs) inputs.push_back(view(input));
    for (uint32_t output : op.outputs) {
        outputs.push_back(view(output));
        if (!node.op->writesInPlace) std::fill_n(outputs.back().data, outputs.back().shape.paddedElements(), 0.0);
    }
    node.op->reference({node.attributes, inputs, outputs, step});
    ++calls;
}

void CpuExecutor::run(const StepParams& step) {
    std::mt19937_64 random(options_.shuffleSeed);
    std::vector<const PlannedOp*> group;
    const auto flush = [&] {
        if (options_.shuffleSeed != 0) std::shuffle(group.begin(), group.end(), random);
        for (const PlannedOp* op : group) runOp(*op, step);
        group.clear();
    };
    if (options_.poisonArena) std::ranges::fill(arena_, std::numeric_limits<double>::quiet_NaN());
    for (const PlannedOp& op : plan_->ops) {
        if (op.aliasOnly) continue;
        if (op.barrierBefore) flush();
        group.push_back(&op);
    }
    flush();
}

} // namespace attn
