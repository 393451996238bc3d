#include "engine/session/attention_run.h"

#include "engine/attention/heads/heads.h"
#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

const std::string kPrefix = "attention";

void writeRows(std::span<float> padded, const Shape& shape, std::span<const float> dense) {
    const auto stride = static_cast<size_t>(shape.rowStride()), columns = static_cast<size_t>(shape.columns());
    for (size_t row = 0; row < padded.size() / stride; ++row)
        std::ranges::copy(dense.subspan(row * columns, columns),
                          padded.begin() + static_cast<std::ptrdiff_t>(row * stride));
}

} // namespace

AttentionGraph attentionGraph(const AttentionSpec& spec, const AttentionSizes& sizes, bool mayFuse) {
    const HeadCounts counts = headCounts(spec.part(Slot::Heads), spec.values(Slot::Heads));
    const auto graph = std::make_shared<Graph>();
    AttentionGraph result{.graph = graph,
                          .flow = {.graph = *graph,
                                   .spec = spec,
                                   .prefix = kPrefix,
                                   .layer = sizes.layer,
                                   .heads = counts.heads,
                                   .groups = counts.groups,
                                   .queries = sizes.queries,
                                   .keys = sizes.keys,
                                   .width = sizes.width,
                                   .mayFuse = mayFuse}};
    AttentionFlow& flow = result.flow;
    const Shape keys{1, counts.groups, sizes.keys, sizes.width};
    flow.q = graph->input("q", {.shape = {1, counts.heads, sizes.queries, sizes.width}});
    flow.k = graph->input("k", {.shape = keys});
    flow.v = graph->input("v", {.shape = keys});
    buildAttention(flow);
    return result;
}

struct AttentionRun::Impl {
    TensorStore store;
    std::unique_ptr<GpuExecutor> executor;
    std::map<std::string, Shape> shapes; ///< of the inputs
    explicit Impl(gpu::Context& context) : store(context) {}
};

AttentionRun::AttentionRun(gpu::Context& context, KernelLibrary& kernels, const AttentionSpec& spec,
                           const AttentionSizes& sizes, std::span<const std::string> wanted, uint64_t seed) {
    // Where every cell is formed to be shown, the output may as well be made of them.
    const bool isOutputAlone = wanted.size() == 1 && wanted.front() == "z";
    const AttentionGraph built = attentionGraph(spec, sizes, isOutputAlone);
    const auto& [graph, flow] = built;
    std::map<std::string, Tensor> outputs;
    const auto offer = [&](const std::string& name, Tensor tensor) {
        if (tensor && (wanted.empty() || std::ranges::find(wanted, name) != wanted.end())) outputs[name] = tensor;
    };
    offer("z", flow.z);
    offer("scores", flow.scores);
    offer("pattern", flow.pattern);
    for (const auto& [name, tensor] : flow.shown)
        if (graph->node(tensor.node).kind == NodeKind::Operation) offer(name, tensor);
    prepare(context, kernels, built, outputs, seed);
}

AttentionRun AttentionRun::ofWindow(gpu::Context& context, KernelLibrary& kernels, const AttentionSpec& spec,
                                    const AttentionSizes& sizes, const PatternWindow& window, uint64_t seed) {
    const AttentionGraph built = attentionGraph(spec, sizes, false);
    if (!built.flow.factors)
        throw Error({.what = "its pattern is no product of features, and is formed as a whole or not at all",
                     .where = spec.text(),
                     .hint = "parts can be seen of linear attention, random features, FAVOR+, Efficient Attention and "
                             "Linformer with a matrix or means"});
    const auto under = [&](const char* name, int64_t begin, int64_t end, int64_t pixels) {
        std::vector<int32_t> positions = positionsUnder(begin, end, pixels);
        const auto count = static_cast<int64_t>(positions.size());
        return std::pair(built.graph->input(name, {.shape = {count}, .dtype = DType::I32}), std::move(positions));
    };
    const auto [rows, queries] = under("rows", window.queryBegin, window.queryEnd, window.rows);
    const auto [columns, keys] = under("columns", window.keyBegin, window.keyEnd, window.columns);
    AttentionRun run;
    run.prepare(context, kernels, built, {{"pattern", patternWindow(*built.flow.factors, rows, columns, window)}},
                seed);
    std::ranges::copy(queries, run.impl_->executor->inputIntegers("rows").begin());
    std::ranges::copy(keys, run.impl_->executor->inputIntegers("columns").begin());
    return run;
}

void AttentionRun::prepare(gpu::Context& context, KernelLibrary& kernels, const AttentionGraph& built,
                           const std::map<std::string, Tensor>& outputs, uint64_t seed) {
    const auto& [graph, flow] = built;
    impl_ = std::make_unique<Impl>(context);
    heads_ = flow.heads;
    groups_ = flow.groups;
    const Shape keys{1, groups_, flow.keys, flow.width};
    impl_->shapes = {{"q", {1, heads_, flow.queries, flow.width}}, {"k", keys}, {"v", keys}};
    const auto plan = compile(graph, outputs);
    std::vector<std::pair<std::string, Shape>> sources;
    const auto isPlanned = [&](const std::string& name) {
        return std::ranges::any_of(plan->tensors, [&](const PlannedTensor& tensor) { return tensor.name == name; });
    };
    for (const FlowParameter& parameter : flow.parameters)
        if (isPlanned(parameter.name)) sources.emplace_back(parameter.name, parameter.shape);
    for (const FlowConstant& constant : flow.constants)
        if (isPlanned(constant.name)) sources.emplace_back(constant.name, constant.shape);
    impl_->store.reserve(sources);
    for (const FlowConstant& constant : flow.constants)
        if (isPlanned(constant.name)) impl_->store.writeDense(constant.name, constant.values());
    for (const FlowParameter& parameter : flow.parameters) {
        if (!isPlanned(parameter.name)) continue;
        impl_->store.writeDense(parameter.name, initialNumbers(parameter, seed + parameters_.size()));
        parameters_.push_back(parameter);
        parameters_.back().name.erase(0, kPrefix.size() + 1);
    }
    impl_->executor = std::make_unique<GpuExecutor>(context, kernels, impl_->store, plan);
}

AttentionRun::AttentionRun() = default;
AttentionRun::~AttentionRun() = default;
AttentionRun::AttentionRun(AttentionRun&&) noexcept = default;

void AttentionRun::setInputs(std::span<const float> q, std::span<const float> k, std::span<const float> v) {
    const std::array<std::pair<const char*, std::span<const float>>, 3> all{{{"q", q}, {"k", k}, {"v", v}}};
    for (const auto& [name, values] : all) {
        const Shape& shape = impl_->shapes.at(name);
        if (static_cast<int64_t>(values.size()) != shape.elements())
            throw Error({.what = fmt::format("{} has {} numbers, not {}", name, values.size(), shape.elements()),
                         .where = name,
                         .hint = fmt::format("its shape is {}", shape.text())});
        if (impl_->executor->hasInput(name)) writeRows(impl_->executor->input(name), shape, values);
    }
}

void AttentionRun::setParameter(const std::string& name, std::span<const float> values) {
    const auto found = std::ranges::find(parameters_, name, &FlowParameter::name);
    if (found == parameters_.end() || static_cast<int64_t>(values.size()) != found->shape.elements())
        throw Error({.what = "this attention learns no such tensor, or of another size", .where = name, .hint = {}});
    impl_->store.writeDense(kPrefix + "." + name, values);
}

void AttentionRun::run() { impl_->executor->run({}); }

std::vector<std::string> AttentionRun::results() const {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : impl_->executor->plan().results) names.push_back(name);
    return names;
}

NamedTensor AttentionRun::result(const std::string& name) const {
    const PlannedTensor& tensor = impl_->executor->plan().result(name);
    const Shape& shape = tensor.type.shape;
    std::vector<int64_t> extents = shape.extents();
    if (extents.size() > 2 && extents.front() == 1) extents.erase(extents.begin());
    NamedTensor result{.name = name, .shape = Shape(std::move(extents)), .values = {}};
    const auto stride = static_cast<size_t>(shape.rowStride()), columns = static_cast<size_t>(shape.columns());
    const auto append = [&](auto padded) {
        for (size_t row = 0; row < static_cast<size_t>(shape.rows()); ++row)
            for (size_t c = 0; c < columns; ++c) result.values.push_back(static_cast<float>(padded[row * stride + c]));
    };
    result.values.reserve(static_cast<size_t>(shape.elements()));
    if (tensor.type.dtype == DType::I32)
        append(impl_->executor->resultIntegers(name));
    else
        append(impl_->executor->result(name));
    return result;
}

uint64_t AttentionRun::deviceBytes() const { return impl_->executor->deviceBytes() + impl_->store.bytes(); }

} // namespace attn
