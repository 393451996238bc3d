#include "app/scope/microscope.h"

#include "engine/core/error.h"
#include "engine/core/made_once.h"
#include "engine/gpu/pipeline_facts.h"
#include "engine/gpu/transfer.h"
#include "engine/inference/hook_changes.h"
#include "engine/inference/view_graph.h"
#include "engine/models/hook_names.h"
#include "engine/ops/tensor_ops.h"
#include "engine/runtime/kernel_library.h"
#include "shaders/embedded_shaders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <utility>

namespace attn {

/// A plan that computes one tensor to show.
struct Microscope::TensorPlan {
    std::string name;
    int64_t room = 0;   ///< largest number of tokens; 0: a parameter
    bool isCut = false; ///< only the rows of tokens are valid
    std::string axes{};
    std::set<std::string> changed{}; ///< hooks that can be changed in it
    std::unique_ptr<GpuExecutor> executor;
};

Microscope::Microscope(LanguageModel& model) : model_(model) {
    if (!model.isCached())
        refusal_ =
            fmt::format("The patterns of {} are not computed from a cache of queries and keys, so they cannot be "
                        "drawn from device memory here. Open it in attention-lab.",
                        model.info().name);
}

Microscope::~Microscope() = default;

void Microscope::requireTokens(size_t count) const {
    if (!refusal_.empty())
        throw Error({.what = "the patterns of this model cannot be drawn from device memory",
                     .where = model_.info().name,
                     .hint = "open the model in attention-lab"});
    if (model_.tokens().size() < count)
        throw Error(
            {.what = fmt::format("at least {} tokens are needed but there are {}", count, model_.tokens().size()),
             .where = model_.info().name,
             .hint = "enter a longer prompt"});
}

void Microscope::followRoom() {
    if (std::exchange(room_, model_.roomChanges()) == model_.roomChanges()) return;
    tiles_.clear();
    timed_.clear();
}

Microscope::LayerTiles Microscope::layerTiles(int layer, int size, int cells, int firstRow) {
    requireTokens(1);
    followRoom();
    const bool isFine = cells < 4;
    GpuExecutor& executor = madeOnce(tiles_, {layer, size, isFine}, [&] {
        const int64_t rows = model_.cacheRows();
        return longPatternStep(model_.device(), model_.store(), longPatternSource(model_.config(), rows, layer),
                               model_.info().heads, rows, size, isFine);
    });
    const auto count = static_cast<int>(model_.tokens().size());
    const int pixels = std::min((count + cells - 1) / cells, size), rows = pixels - firstRow;
    const LensBand band{.columnLevel = std::countr_zero(static_cast<unsigned>(cells)),
                        .columns = pixels,
                        .setsOfLanes = lensSets(model_.device().kernelTraits()),
                        .heads = model_.info().heads};
    std::vector<PatternTile> changedRows;
    for (const auto& [head, change] : model_.hookChanges().patterns())
        if (head.first == layer) {
            changedRows.push_back({.site = layer,
                                   .head = head.second,
                                   .rows = rows,
                                   .columns = size,
                                   .queryBegin = firstRow * cells,
                                   .queryEnd = pixels * cells,
                                   .keyBegin = 0,
                                   .keyEnd = size * cells});
            for (int row = firstRow; row < pixels; ++row) {
                const std::vector<float> pooled = changedRow(executor, band, layer, head.second, row, size);
                changedRows.back().values.insert(changedRows.back().values.end(), pooled.begin(), pooled.end());
            }
        }
    LensBand all = band;
    all.firstRow = firstRow * cells;
    all.rowLevel = band.columnLevel;
    all.rowCount = std::min(count, pixels * cells) - firstRow * cells;
    runLongPatternStep(executor, all, count);
    const GpuExecutor::DeviceResult at = executor.deviceResult("pixels");
    return {.buffer = at.buffer->get(),
            .byteOffset = at.byteOffset,
            .heads = model_.info().heads,
            .size = size,
            .rowStride = static_cast<int>(at.shape.rowStride()),
            .firstRow = firstRow,
            .rows = rows,
            .columns = pixels,
            .changedRows = std::move(changedRows)};
}

/// A row of pixels of a head, in which changes have set some rows. @return [columns]
/// @param band for all heads; this function sets its rows
std::vector<float> Microscope::changedRow(GpuExecutor& executor, LensBand band, int layer, int head, int row,
                                          int columns) const {
    const auto count = static_cast<int>(model_.tokens().size());
    const int cells = 1 << band.columnLevel, end = std::min((row + 1) * cells, count);
    PooledRow pooled({.count = columns, .level = band.columnLevel, .tokens = count});
    for (int query = row * cells, drawn = 0; query < end; ++query) {
        if (const auto weights = model_.changedRow(layer, head, query); !weights.empty()) {
            pooled.add(weights);
            continue;
        }
        const Shape& shape = executor.plan().result("pixels").type.shape; // [heads * size, size]
        const auto size = static_cast<int>(shape.columns());
        if (query >= drawn) {
            band.firstRow = query;
            band.rowCount = std::min(size, end - query);
            runLongPatternStep(executor, band, count);
            drawn = query + band.rowCount;
        }
        std::vector<float> own(static_cast<size_t>(columns), 0); // columns after those of the band are undefined
        std::copy_n(executor.result("pixels").begin() +
                        static_cast<std::ptrdiff_t>((head * size + query - band.firstRow) * shape.rowStride()),
                    band.columns, own.begin());
        pooled.addPooled(own);
    }
    return pooled.values();
}

std::unique_ptr<LongPatternView> Microscope::longPatternView(int layer) {
    requireTokens(1);
    LongPatternSource source = model_.longPatternSource(layer);
    source.statePrefix = "microscope.long_pattern"; // separate from that of the model's views
    auto view = std::make_unique<LongPatternView>(model_.device(), model_.store(), std::move(source));
    view->setTokens(static_cast<int64_t>(model_.tokens().size()));
    return view;
}

// Tensors -------------------------------------------------------------------------------------------------------------

namespace {

constexpr const char *kTensor = "looked at", *kTensorStatistics = "statistics";

TensorStatistics statisticsIn(std::span<const float> values) {
    return {values[0], values[1], values[2], values[3], values[4], values[5], values[6], values[7]};
}

/// The capacity in tokens of a plan over a whole sequence: at least a sixteenth and at least sixteen tokens more than
/// now, so that the next tokens use the same plan. A larger plan would cost more time than it saves.
int64_t roomFor(int64_t tokens, int64_t capacity) {
    const int64_t step =
        std::max<int64_t>(static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(tokens))) / 16, 16);
    return std::min((tokens + step - 1) / step * step, capacity);
}

StepParams paramsOf(size_t tokens) {
    StepParams params;
    params[StepScalar::QueryLength] = static_cast<uint32_t>(tokens);
    return params;
}

} // namespace

std::unique_ptr<GpuExecutor> Microscope::executorOf(const std::shared_ptr<Graph>& graph,
                                                    const std::map<std::string, Tensor>& outputs) const {
    return std::make_unique<GpuExecutor>(model_.device(), model_.store(), compile(graph, outputs));
}

GpuExecutor& Microscope::runHook(const std::string& name) {
    // Without a cache, all tokens of the sequence are rows of one step, and no state of the model changes.
    const auto tokens = static_cast<int64_t>(model_.tokens().size());
    const bool isKnown = tensorPlan_ && tensorPlan_->name == name && tensorPlan_->room > 0;
    int64_t room = isKnown && !tensorPlan_->isCut ? tokens : roomFor(tokens, model_.capacity());
    if (!isKnown || tensorPlan_->room != room || tensorPlan_->changed != model_.changedHooks()) {
        tensorPlan_ = nullptr; // free its memory first
        const auto graphOf = [&] {
            ModelGraph graph = model_.wholeGraph(room);
            if (!graph.graph->probes().contains(name))
                throw Error(
                    {.what = "the model has no such tensor",
                     .where = name,
                     .hint =
                         "names of hooks look like blocks.0.attn.hook_q, names of parameters like blocks.0.attn.W_Q"});
            return graph;
        };
        ModelGraph graph = graphOf();
        const std::string axes = graph.graph->probes().at(name).axes;
        const bool isCut = axes.size() > 1 && axes.front() == 'T' && axes.find_first_of("TS", 1) == std::string::npos;
        if (!isCut && room != tokens) { // patterns of a shorter sequence have another layout
            room = tokens;
            graph = graphOf();
        }
        const Tensor tensor = graph.graph->probes().at(name).tensor;
        const auto live = isCut ? std::optional(StepScalar::QueryLength) : std::nullopt;
        tensorPlan_ = std::make_unique<TensorPlan>(TensorPlan{
            .name = name,
            .room = room,
            .isCut = isCut,
            .axes = axes,
            .changed = model_.changedHooks(),
            .executor =
                executorOf(graph.graph, {{kTensor, tensor}, {kTensorStatistics, tensorStatistics(tensor, live)}})});
    }
    model_.writeWhole(*tensorPlan_->executor, model_.tokens());
    tensorPlan_->executor->run(paramsOf(model_.tokens().size()));
    return *tensorPlan_->executor;
}

Microscope::DeviceTensor Microscope::tensor(const std::string& name) {
    if (std::ranges::find(model_.info().parameters, name, &ParameterInfo::name) == model_.info().parameters.end()) {
        requireTokens(1);
        GpuExecutor& executor = runHook(name);
        const GpuExecutor::DeviceResult at = executor.deviceResult(kTensor);
        std::vector<int64_t> extents = at.shape.extents();
        if (tensorPlan_->isCut) extents.front() = static_cast<int64_t>(model_.tokens().size());
        return {.name = name,
                .shape = Shape(extents),
                .axes = tensorPlan_->axes,
                .buffer = at.buffer->get(),
                .byteOffset = at.byteOffset,
                .byteSize = at.byteSize,
                .rowStride = at.shape.rowStride(),
                .statistics = statisticsIn(executor.result(kTensorStatistics))};
    }
    const TensorStore::Entry& entry = model_.store().entry(name);
    tensorPlan_ = nullptr;
    const auto graph = std::make_shared<Graph>();
    const Tensor weight = graph->parameter(name, entry.shape);
    tensorPlan_ = std::make_unique<TensorPlan>(
        TensorPlan{.name = name, .executor = executorOf(graph, {{kTensorStatistics, tensorStatistics(weight)}})});
    tensorPlan_->executor->run({});
    return {.name = name,
            .shape = entry.shape,
            .axes = {},
            .buffer = model_.store().buffer(entry).get(),
            .byteOffset = entry.byteOffset,
            .byteSize = entry.byteSize,
            .rowStride = entry.shape.rowStride(),
            .statistics = statisticsIn(tensorPlan_->executor->result(kTensorStatistics))};
}

float Microscope::value(int64_t row, int64_t column) const {
    if (!tensorPlan_) throw Error({.what = "no tensor is open", .where = "tensor", .hint = "choose one"});
    if (tensorPlan_->room > 0) {
        const Shape& shape = tensorPlan_->executor->plan().result(kTensor).type.shape;
        return tensorPlan_->executor->result(kTensor)[static_cast<size_t>(row * shape.rowStride() + column)];
    }
    const TensorStore::Entry& entry = model_.store().entry(tensorPlan_->name);
    float value = 0;
    gpu::Transfer(model_.device().context())
        .download(model_.store().buffer(entry),
                  entry.byteOffset + static_cast<uint64_t>(row * entry.shape.rowStride() + column) * sizeof(float),
                  std::as_writable_bytes(std::span(&value, 1)));
    return value;
}

Microscope::DeviceTensor Microscope::residualNorms() {
    requireTokens(1);
    constexpr const char* kNorms = "residual norms";
    const int64_t room = roomFor(static_cast<int64_t>(model_.tokens().size()), model_.capacity());
    if (!normsPlan_ || normsPlan_->room != room || normsPlan_->changed != model_.changedHooks()) {
        normsPlan_ = nullptr;
        const ModelGraph graph = model_.wholeGraph(room);
        std::vector<Tensor> columns;
        const auto add = [&](const std::string& hook) {
            const Tensor squares = unary(graph.graph->probes().at(hook).tensor, Unary::Square); // [T,C]
            columns.push_back(reshape(unary(reduce(squares, Reduction::Sum, {1}), Unary::SquareRoot), {room, 1}));
        };
        add(inBlock(0, "hook_resid_pre"));
        for (int layer = 0; layer < model_.info().layers; ++layer) add(inBlock(layer, "hook_resid_post"));
        const Tensor all = concatenate(columns, 1); // [T, layers + 1]
        normsPlan_ = std::make_unique<TensorPlan>(
            TensorPlan{.name = kNorms,
                       .room = room,
                       .isCut = true,
                       .axes = "LT",
                       .changed = model_.changedHooks(),
                       .executor = executorOf(graph.graph,
                                              {{kNorms, permute(all, {1, 0})},
                                               {kTensorStatistics, tensorStatistics(all, StepScalar::QueryLength)}})});
    }
    GpuExecutor& executor = *normsPlan_->executor;
    model_.writeWhole(executor, model_.tokens());
    executor.run(paramsOf(model_.tokens().size()));
    const GpuExecutor::DeviceResult at = executor.deviceResult(kNorms);
    return {.name = kNorms,
            .shape = {at.shape[0], static_cast<int64_t>(model_.tokens().size())},
            .axes = normsPlan_->axes,
            .buffer = at.buffer->get(),
            .byteOffset = at.byteOffset,
            .byteSize = at.byteSize,
            .rowStride = at.shape.rowStride(),
            .statistics = statisticsIn(executor.result(kTensorStatistics))};
}

float Microscope::residualNorm(int64_t row, int64_t token) const {
    if (!normsPlan_) throw Error({.what = "there are no norms", .where = "norms", .hint = "compute them first"});
    const Shape& shape = normsPlan_->executor->plan().result(normsPlan_->name).type.shape;
    return normsPlan_->executor->result(normsPlan_->name)[static_cast<size_t>(row * shape.rowStride() + token)];
}

std::vector<MemoryUse> Microscope::memory() const {
    const ModelInfo& info = model_.info();
    uint64_t views = 0;
    for (const auto& [key, executor] : tiles_) views += executor->deviceBytes();
    for (const auto* plan : {&tensorPlan_, &normsPlan_})
        if (*plan) views += (*plan)->executor->deviceBytes();
    for (const auto& [queries, timed] : timed_)
        if (timed.executor) views += timed.executor->deviceBytes(); // making it may have failed
    const auto all = static_cast<int64_t>(model_.device().context().allocatedBytes()),
               store = static_cast<int64_t>(model_.store().bytes()), plans = model_.planBytes();
    std::vector<MemoryUse> uses{
        {"weights", info.parameterBytes},
        {"key/value caches, with queries for views", store - info.parameterBytes},
        {"plans of steps and tiles", plans},
        {"views: grids, tensors, norms, timings", static_cast<int64_t>(views)},
        {"pictures, long-pattern view and staging", all - store - plans - static_cast<int64_t>(views)}};
    std::ranges::stable_sort(uses, std::greater(), &MemoryUse::bytes);
    return uses;
}

// The profile ---------------------------------------------------------------------------------------------------------

namespace {

constexpr int kRuns = 5; // the median counts

/// A type with only the live rows of this step.
TensorType liveType(TensorType type, const StepParams& step) {
    if (!type.liveRows) return type;
    std::vector<int64_t> extents = type.shape.extents();
    extents[0] = std::min<int64_t>(extents[0], step[*type.liveRows]);
    type.shape = Shape(extents);
    return type;
}

struct OpTypesOf {
    std::vector<TensorType> inputs, outputs;
    OpTypesOf(const Plan& plan, const PlannedOp& op) {
        for (uint32_t input : op.inputs) inputs.push_back(plan.tensors[input].type);
        for (uint32_t output : op.outputs) outputs.push_back(plan.tensors[output].type);
    }
    OpTypesOf(const Plan& plan, const PlannedOp& op, const StepParams& step) : OpTypesOf(plan, op) {
        for (TensorType& type : inputs) type = liveType(type, step);
        for (TensorType& type : outputs) type = liveType(type, step);
    }
};

std::vector<Dispatch> dispatchesOf(const Plan& plan, const PlannedOp& op, const KernelTraits& traits) {
    const Node& node = plan.graph->node(op.node);
    const OpTypesOf types(plan, op);
    return node.op->dispatch({node.attributes, types.inputs, types.outputs}, traits);
}

/// Bytes that an op moves if it accesses each value once; 0 if it reads selected rows or writes a part in place.
double bytesOf(const Plan& plan, const PlannedOp& op, const OpTypesOf& types) {
    const std::string_view name = plan.graph->node(op.node).op->name;
    const auto sizeOf = [](const TensorType& type) { return 4.0 * static_cast<double>(type.shape.elements()); };
    double bytes = 0;
    if (name == "embedding" || name == "take") // reads as many rows of a table as it writes
        return sizeOf(types.inputs.front()) * (name == "embedding" ? 1 : 0) + 2 * sizeOf(types.outputs.front());
    if (plan.graph->node(op.node).op->writesInPlace) { // it copies a value to its place
        for (size_t i = 1; i < types.inputs.size(); ++i) bytes += 2 * sizeOf(types.inputs[i]);
        return bytes;
    }
    std::set<uint32_t> seen;
    for (size_t i = 0; i < types.inputs.size(); ++i)
        if (seen.insert(op.inputs[i]).second) bytes += sizeOf(types.inputs[i]);
    for (const TensorType& type : types.outputs) bytes += sizeOf(type);
    return bytes;
}

/// The name to show for an op: its hook, or else the parameter or cache that it uses.
std::string pathOf(const Plan& plan, const PlannedOp& op) {
    for (const auto& [name, probe] : plan.graph->probes())
        if (probe.tensor.node == op.node) return name;
    for (const auto* tensors : {&op.inputs, &op.outputs})
        for (uint32_t index : *tensors)
            if (const PlannedTensor& tensor = plan.tensors[index];
                tensor.home == Home::Parameter || tensor.home == Home::State)
                return tensor.name;
    return plan.graph->node(op.node).name;
}

double medianOf(std::vector<double> values) {
    std::ranges::sort(values);
    return values.empty() ? 0 : values[values.size() / 2];
}

} // namespace

Microscope::Timed& Microscope::timedStep(Phase phase) {
    requireTokens(phase == Phase::Decode ? 1 : 2);
    followRoom();
    const size_t all = model_.tokens().size();
    // The model runs the last token separately, and the tokens before it in steps of several sizes.
    const bool isDecode = phase == Phase::Decode;
    const int64_t queries = isDecode ? 1 : model_.bucketFor(std::max<size_t>(all - 1, 2));
    Timed& timed = timed_[queries];
    timed.first = isDecode ? all - 1 : 0;
    timed.count = isDecode ? 1 : std::min(all - 1, static_cast<size_t>(queries));
    if (timed.executor && timed.changed == model_.changedHooks()) return timed;
    timed.executor = nullptr; // frees its memory first
    timed.changed = model_.changedHooks();
    const ModelGraph graph = model_.stepGraph(queries);
    std::map<std::string, Tensor> outputs(graph.updates.begin(), graph.updates.end());
    if (isDecode) outputs.emplace("next_logits", graph.nextLogits);
    timed.plan = compile(graph.graph, outputs);
    timed.executor = std::make_unique<GpuExecutor>(model_.device(), model_.store(), timed.plan,
                                                   GpuExecutorOptions{.profiles = true});
    return timed;
}

std::shared_ptr<const Plan> Microscope::plan(Phase phase) { return timedStep(phase).plan; }

StepProfile Microscope::profile(Phase phase) {
    Timed& timed = timedStep(phase);
    const StepParams step =
        model_.writeStep(*timed.executor, timed.first, std::span(model_.tokens()).subspan(timed.first, timed.count));
    std::vector<std::vector<double>> runs; // [dispatch][run]
    for (int run = 0; run < kRuns; ++run) {
        timed.executor->run(step);
        const auto stretches = timed.executor->profile();
        runs.resize(stretches.size());
        for (size_t i = 0; i < stretches.size(); ++i) runs[i].push_back(stretches[i].elapsedMs);
    }
    const Plan& plan = *timed.plan;
    StepProfile profile{.plan = timed.plan, .queries = static_cast<int64_t>(timed.count), .ops = {}, .totalMs = 0};
    const KernelTraits traits = model_.device().kernelTraits();
    size_t next = 0;
    for (uint32_t index = 0; index < plan.ops.size(); ++index) {
        const PlannedOp& op = plan.ops[index];
        if (op.aliasOnly) continue;
        const Node& node = plan.graph->node(op.node);
        const bool isOnHost = traits.usesHost && node.op->host != nullptr;
        const auto dispatches = isOnHost ? std::vector<Dispatch>(1) : dispatchesOf(plan, op, traits);
        const OpTypesOf types(plan, op, step);
        OpTime& time = profile.ops.emplace_back(OpTime{
            .op = index,
            .name = std::string(node.op->name),
            .path = pathOf(plan, op),
            .shader = isOnHost             ? "processor"
                      : dispatches.empty() ? std::string()
                                           : std::string(dispatches.front().shader),
            .dispatches = static_cast<int>(dispatches.size()),
            .elapsedMs = 0,
            .operations = node.op->operations ? node.op->operations({node.attributes, types.inputs, types.outputs}) : 0,
            .bytes = bytesOf(plan, op, types)});
        for (size_t i = 0; i < dispatches.size() && next < runs.size(); ++i) time.elapsedMs += medianOf(runs[next++]);
        profile.totalMs += time.elapsedMs;
    }
    return profile;
}

std::vector<KernelUse> Microscope::kernels(const Plan& plan) const {
    const gpu::DeviceTraits& device = model_.device().context().traits();
    std::vector<KernelUse> uses;
    for (const PlannedOp& op : plan.ops) {
        if (op.aliasOnly) continue;
        for (const Dispatch& dispatch : dispatchesOf(plan, op, model_.device().kernelTraits())) {
            const auto same = std::ranges::find_if(uses, [&](const KernelUse& use) {
                return use.shader == dispatch.shader && use.specialisation == dispatch.specialisation;
            });
            if (same != uses.end()) {
                ++same->dispatches;
                continue;
            }
            const auto shaders = embeddedShaders();
            const auto shader = std::ranges::find_if(shaders, [&](const EmbeddedShader& s) {
                return s.name == dispatch.shader && s.texelInputs == device.prefersTexelInputs;
            });
            if (shader == shaders.end()) continue;
            const gpu::ComputePipeline& pipeline =
                model_.device().kernels().pipeline(dispatch, device.prefersTexelInputs);
            uses.push_back({.shader = std::string(dispatch.shader),
                            .localSize = gpu::workgroupSize(shader->spirv, dispatch.specialisation),
                            .pushBytes = pipeline.pushConstantBytes(),
                            .specialisation = dispatch.specialisation,
                            .texelInputs = device.prefersTexelInputs,
                            .dispatches = 1,
                            .facts = gpu::pipelineFacts(model_.device().context(), pipeline, shader->spirv,
                                                        dispatch.specialisation)});
        }
    }
    return uses;
}

} // namespace attn
