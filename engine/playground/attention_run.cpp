#include "engine/playground/attention_run.h"

#include "engine/attention/head_counts.h"
#include "engine/attention/part.h"
#include "engine/core/error.h"
#include "engine/core/rng.h"
#include "engine/runtime/gpu_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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
    const HeadCounts counts = headCounts(spec);
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

namespace {

/// The graph and outputs of a run.
struct Task {
    AttentionGraph built;
    std::map<std::string, Tensor> outputs;
    std::map<std::string, std::vector<int32_t>> positions{}; ///< inputs of a window, by name
};

Task wholeTask(const AttentionSpec& spec, const AttentionSizes& sizes, std::span<const std::string> wanted) {
    // If all cells are displayed, the output is computed from them.
    const bool isOutputAlone = wanted.size() == 1 && wanted.front() == "z";
    Task task{.built = attentionGraph(spec, sizes, isOutputAlone), .outputs = {}};
    const AttentionFlow& flow = task.built.flow;
    const auto offer = [&](const std::string& name, Tensor tensor) {
        if (tensor && (wanted.empty() || std::ranges::find(wanted, name) != wanted.end())) task.outputs[name] = tensor;
    };
    offer("z", flow.z);
    offer("scores", flow.scores);
    offer("pattern", flow.pattern);
    for (const auto& [name, tensor] : flow.shown)
        if (flow.graph.node(tensor.node).kind == NodeKind::Operation) offer(name, tensor);
    return task;
}

Task windowTask(const AttentionSpec& spec, const AttentionSizes& sizes, const PatternWindow& window) {
    Task task{.built = attentionGraph(spec, sizes, false), .outputs = {}};
    const AttentionFlow& flow = task.built.flow;
    if (!flow.factors)
        throw Error({.what = "its pattern is not a product of features, so a window of it cannot be computed",
                     .where = spec.text(),
                     .hint = "windows work for linear attention, random features, FAVOR+, Efficient Attention and "
                             "Linformer with a matrix or means"});
    const auto under = [&](const char* name, int64_t begin, int64_t end, int64_t pixels) {
        const auto& positions = task.positions[name] = positionsUnder(begin, end, pixels);
        return flow.graph.input(name, {.shape = {static_cast<int64_t>(positions.size())}, .dtype = DType::I32});
    };
    const Tensor rows = under("rows", window.queryBegin, window.queryEnd, window.rows),
                 columns = under("columns", window.keyBegin, window.keyEnd, window.columns);
    task.outputs["pattern"] = patternWindow(*flow.factors, rows, columns, window);
    return task;
}

using Place = std::pair<uint32_t, uint32_t>; ///< a node and the index of its output

bool isSame(const Graph& a, const Graph& b) {
    const auto isSameNode = [](const Node& x, const Node& y) {
        const auto isSameTensor = [](const Tensor& p, const Tensor& q) {
            return p.node == q.node && p.output == q.output;
        };
        return x.kind == y.kind && x.op == y.op && x.name == y.name && x.outputs == y.outputs &&
               x.attributes == y.attributes && std::ranges::equal(x.inputs, y.inputs, isSameTensor);
    };
    if (a.size() != b.size()) return false;
    for (uint32_t id = 0; id < a.size(); ++id)
        if (!isSameNode(a.node(id), b.node(id))) return false;
    return true;
}

std::map<std::string, Place> placesOf(const std::map<std::string, Tensor>& outputs) {
    std::map<std::string, Place> places;
    for (const auto& [name, tensor] : outputs) places[name] = {tensor.node, tensor.output};
    return places;
}

} // namespace

struct AttentionRun::Impl {
    TensorStore store;
    std::unique_ptr<GpuExecutor> executor;
    std::map<std::string, Shape> shapes{}; ///< shapes of the inputs
    std::vector<std::string> wanted;
    std::map<std::string, Place> places{};              ///< places of the outputs
    std::optional<uint64_t> seed{};                     ///< seed of the learned tensors; none if a caller set them
    std::vector<std::pair<std::string, Shape>> drawn{}; ///< the constants of parts that draw random numbers
    explicit Impl(Device& device) : store(device) {}

    bool isPlanned(const std::string& name) const { return store.contains(name); }

    void writeConstants(const Task& task) {
        for (const FlowConstant& constant : task.built.flow.constants)
            if (isPlanned(constant.name)) store.writeDense(constant.name, constant.values());
        for (const auto& [name, positions] : task.positions)
            std::ranges::copy(positions, executor->inputIntegers(name).begin());
    }
    void prepare(Device& device, const Task& task) {
        const AttentionFlow& flow = task.built.flow;
        const Shape keys{1, flow.groups, flow.keys, flow.width};
        shapes = {{"q", {1, flow.heads, flow.queries, flow.width}}, {"k", keys}, {"v", keys}};
        places = placesOf(task.outputs);
        drawn.clear();
        const bool drawsNumbers = flow.spec.part(Slot::Normaliser).isRandom;
        for (const FlowConstant& constant : flow.constants)
            for (const char* name : {".normaliser.w", ".normaliser.rotation"})
                if (drawsNumbers && constant.name.starts_with(kPrefix + name))
                    drawn.emplace_back(constant.name, constant.shape);
        const auto plan = compile(task.built.graph, task.outputs);
        std::vector<std::pair<std::string, Shape>> sources;
        const auto reserve = [&](const auto& named) {
            for (const auto& source : named)
                if (std::ranges::find(plan->tensors, source.name, &PlannedTensor::name) != plan->tensors.end())
                    sources.emplace_back(source.name, source.shape);
        };
        reserve(flow.parameters);
        reserve(flow.constants);
        store.reserve(sources);
        executor = std::make_unique<GpuExecutor>(device, store, plan);
        writeConstants(task);
    }
};

AttentionRun::AttentionRun(Device& device, const AttentionSpec& spec, const AttentionSizes& sizes,
                           std::span<const std::string> wanted, uint64_t seed)
    : impl_(std::make_unique<Impl>(device)) {
    const Task task = wholeTask(spec, sizes, wanted);
    impl_->wanted.assign(wanted.begin(), wanted.end());
    impl_->prepare(device, task);
    begin(task.built.flow, seed);
}

AttentionRun AttentionRun::ofWindow(Device& device, const AttentionSpec& spec, const AttentionSizes& sizes,
                                    const PatternWindow& window, uint64_t seed) {
    AttentionRun run;
    const Task task = windowTask(spec, sizes, window);
    run.impl_ = std::make_unique<Impl>(device);
    run.impl_->prepare(device, task);
    run.begin(task.built.flow, seed);
    return run;
}

void AttentionRun::begin(const AttentionFlow& flow, uint64_t seed) {
    heads_ = flow.heads;
    groups_ = flow.groups;
    // The same graph has the same names and shapes, so it depends only on the seed. Drawing many numbers takes time.
    if (std::exchange(impl_->seed, seed) == seed) return;
    parameters_.clear();
    for (const FlowParameter& parameter : flow.parameters) {
        if (!impl_->isPlanned(parameter.name)) continue;
        parameters_.push_back(parameter);
        std::string& name = parameters_.back().name;
        name.erase(0, kPrefix.size() + 1);
        impl_->store.writeDense(parameter.name, initialNumbers(parameter, streamSeed(seed, name)));
    }
}

bool AttentionRun::become(const AttentionSpec& spec, const AttentionSizes& sizes,
                          const std::optional<PatternWindow>& window, uint64_t seed) {
    const Task task = window ? windowTask(spec, sizes, *window) : wholeTask(spec, sizes, impl_->wanted);
    if (placesOf(task.outputs) != impl_->places || !isSame(*task.built.graph, *impl_->executor->plan().graph))
        return false;
    impl_->writeConstants(task);
    begin(task.built.flow, seed);
    return true;
}

AttentionRun::AttentionRun() = default;
AttentionRun::~AttentionRun() = default;
AttentionRun::AttentionRun(AttentionRun&&) noexcept = default;

void AttentionRun::setInputs(std::span<const float> q, std::span<const float> k, std::span<const float> v) {
    const std::array<std::pair<const char*, std::span<const float>>, 3> all{{{"q", q}, {"k", k}, {"v", v}}};
    for (const auto& [name, values] : all) {
        const Shape& shape = impl_->shapes.at(name);
        if (static_cast<int64_t>(values.size()) != shape.elements())
            throw Error({.what = fmt::format("{} has {} values instead of {}", name, values.size(), shape.elements()),
                         .where = name,
                         .hint = fmt::format("its shape is {}", shape.text())});
        if (impl_->executor->hasInput(name)) writeRows(impl_->executor->input(name), shape, values);
    }
}

void AttentionRun::setParameter(const std::string& name, std::span<const float> values) {
    const auto found = std::ranges::find(parameters_, name, &FlowParameter::name);
    if (found == parameters_.end() || static_cast<int64_t>(values.size()) != found->shape.elements())
        throw Error({.what = "this attention learns no tensor of this name and size", .where = name, .hint = {}});
    impl_->seed.reset();
    impl_->store.writeDense(kPrefix + "." + name, values);
}

std::vector<NamedTensor> AttentionRun::numbers() const {
    std::vector<NamedTensor> numbers;
    const auto add = [&](const char* kind, const std::string& name, const Shape& shape) {
        const std::string own = name.substr(kPrefix.size() + 1);
        numbers.push_back(
            {.name = kind + own.substr(0, own.find('#')), .shape = shape, .values = impl_->store.read(name)});
    };
    for (const FlowParameter& parameter : parameters_) add("learned.", kPrefix + "." + parameter.name, parameter.shape);
    for (const auto& [name, shape] : impl_->drawn)
        if (impl_->isPlanned(name)) add("drawn.", name, shape);
    return numbers;
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
        for (size_t row = 0; row < static_cast<size_t>(shape.rows()); ++row) {
            const auto cells = padded.subspan(row * stride, columns);
            result.values.insert(result.values.end(), cells.begin(), cells.end());
        }
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
