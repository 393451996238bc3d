#include "engine/session/microscope.h"

#include "engine/core/error.h"
#include "engine/ops/tensor_ops.h"
#include "engine/session/hook_edits.h"
#include "engine/session/microscope_parts.h"
#include "engine/session/view_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace attn {

Microscope::Microscope(LanguageModel& model) : model_(model) {
    if (model.isComposed())
        refusal_ = fmt::format("{} composes its attention of parts, which runs without a cache: its patterns and plans "
                               "cannot be drawn from device memory here; attention-lab shows them.",
                               model.info().name);
}

Microscope::~Microscope() = default;

void Microscope::requireTokens(size_t count) const {
    if (!refusal_.empty())
        throw Error({.what = "composed attention cannot be looked at in place",
                     .where = model_.info().name,
                     .hint = "look at it in attention-lab"});
    if (model_.tokens().size() < count)
        throw Error({.what = fmt::format("{} tokens are needed and there are {}", count, model_.tokens().size()),
                     .where = model_.info().name,
                     .hint = "give a longer prompt"});
}

Microscope::LayerTiles Microscope::layerTiles(int layer, int size, int cells, int firstRow) {
    requireTokens(1);
    const bool isFine = cells < 4;
    auto& executor = tiles_[{layer, size, isFine}];
    if (!executor)
        executor = lensStep(model_.context(), model_.kernels(), model_.store(),
                            lensSource(model_.config(), model_.capacity(), layer), model_.info().heads,
                            model_.capacity(), size, isFine);
    const auto count = static_cast<int>(model_.tokens().size());
    const int pixels = std::min((count + cells - 1) / cells, size), rows = pixels - firstRow;
    const int level = std::countr_zero(static_cast<unsigned>(cells));
    runLensStep(*executor,
                {.firstRow = firstRow * cells,
                 .rowLevel = level,
                 .rowCount = std::min(count, pixels * cells) - firstRow * cells,
                 .columnLevel = level,
                 .columns = pixels,
                 .setsOfLanes = lensSets(kernelTraits(model_.context().traits())),
                 .heads = model_.info().heads},
                count);
    const GpuExecutor::DeviceResult at = executor->deviceResult("pixels");
    std::vector<PatternTile> byHand;
    for (const auto& [head, edit] : model_.hookEdits().patterns()) {
        if (head.first != layer) continue;
        PatternTile tile{.layer = layer,
                         .head = head.second,
                         .rows = rows,
                         .columns = size,
                         .queryBegin = firstRow * cells,
                         .queryEnd = pixels * cells,
                         .keyBegin = 0,
                         .keyEnd = size * cells,
                         .values = {}};
        const auto stride = static_cast<size_t>(at.shape.rowStride()), side = static_cast<size_t>(size);
        const auto own = executor->result("pixels").subspan(static_cast<size_t>(head.second) * side * stride);
        for (size_t row = 0; row < static_cast<size_t>(rows); ++row)
            tile.values.insert(tile.values.end(), own.begin() + static_cast<std::ptrdiff_t>(row * stride),
                               own.begin() + static_cast<std::ptrdiff_t>(row * stride + side));
        showEdit(edit, tile, count, static_cast<int>(model_.config().layers[static_cast<size_t>(layer)].rule.window));
        byHand.push_back(std::move(tile));
    }
    return {.buffer = at.buffer,
            .byteOffset = at.byteOffset,
            .heads = model_.info().heads,
            .size = size,
            .rowStride = static_cast<int>(at.shape.rowStride()),
            .firstRow = firstRow,
            .rows = rows,
            .columns = pixels,
            .byHand = std::move(byHand)};
}

std::unique_ptr<AttentionLens> Microscope::lens(int layer) {
    requireTokens(1);
    auto lens = std::make_unique<AttentionLens>(model_.context(), model_.kernels(), model_.store(),
                                                lensSource(model_.config(), model_.capacity(), layer));
    lens->setTokens(static_cast<int64_t>(model_.tokens().size()));
    return lens;
}

void Microscope::writeTokens(GpuExecutor& executor, size_t first, size_t count) const {
    const auto write = [&](const char* name, auto valueOf) {
        if (!executor.hasInput(name)) return;
        const std::span<int32_t> input = executor.inputIntegers(name);
        for (size_t i = 0; i < count; ++i) input[i] = valueOf(first + i);
    };
    write(decoder_names::kTokens, [&](size_t at) { return model_.tokens()[at]; });
    write(decoder_names::kPositions, [](size_t at) { return static_cast<int32_t>(at); });
    const int heads = model_.info().heads;
    for (int layer = 0; layer < model_.info().layers; ++layer) {
        const std::string name = fmt::format("blocks.{}.attn.gates", layer);
        if (executor.hasInput(name))
            std::copy_n(model_.gates().begin() + layer * heads, heads, executor.input(name).begin());
    }
}

// Tensors -------------------------------------------------------------------------------------------------------------

namespace {

constexpr const char *kTensor = "looked at", *kStatistics = "statistics";

TensorStatistics statisticsIn(std::span<const float> values) {
    return {values[0], values[1], values[2], values[3], values[4], values[5], values[6], values[7]};
}

} // namespace

GpuExecutor& Microscope::runHook(const std::string& name) {
    // Without a cache every token of the sequence is a row of one step, and nothing of the model's own is written.
    const auto tokens = static_cast<int64_t>(model_.tokens().size());
    if (!looked_ || looked_->name != name || looked_->tokens != tokens || !looked_->fits(model_.hookEdits())) {
        looked_ = nullptr; // its memory first
        const DecoderGraph graph = model_.wholeGraph(tokens);
        const auto probe = graph.graph->probes().find(name);
        if (probe == graph.graph->probes().end())
            throw Error({.what = "the model has no such tensor",
                         .where = name,
                         .hint = "hooks are named like blocks.0.attn.hook_q, weights like blocks.0.attn.W_Q"});
        const auto plan = compile(
            graph.graph, {{kTensor, probe->second.tensor}, {kStatistics, tensorStatistics(probe->second.tensor)}});
        looked_ = std::make_unique<Looking>(Looking{
            .name = name,
            .tokens = tokens,
            .axes = probe->second.axes,
            .editedHooks = model_.hookEdits().hooks(),
            .editedPatterns = model_.hookEdits().patternLayers(),
            .executor = std::make_unique<GpuExecutor>(model_.context(), model_.kernels(), model_.store(), plan)});
    }
    model_.writeWhole(*looked_->executor, model_.tokens());
    looked_->executor->run({});
    return *looked_->executor;
}

Microscope::DeviceTensor Microscope::tensor(const std::string& name) {
    if (std::ranges::find(model_.info().parameters, name, &ParameterInfo::name) == model_.info().parameters.end()) {
        requireTokens(1);
        GpuExecutor& executor = runHook(name);
        const GpuExecutor::DeviceResult at = executor.deviceResult(kTensor);
        return {.name = name,
                .shape = at.shape,
                .axes = looked_->axes,
                .buffer = at.buffer,
                .byteOffset = at.byteOffset,
                .byteSize = at.byteSize,
                .statistics = statisticsIn(executor.result(kStatistics))};
    }
    const TensorStore::Entry& entry = model_.store().entry(name);
    looked_ = nullptr;
    const auto graph = std::make_shared<Graph>();
    const auto plan = compile(graph, {{kStatistics, tensorStatistics(graph->parameter(name, entry.shape))}});
    looked_ = std::make_unique<Looking>(
        Looking{.name = name,
                .tokens = 0,
                .axes = {},
                .editedHooks = {},
                .editedPatterns = {},
                .executor = std::make_unique<GpuExecutor>(model_.context(), model_.kernels(), model_.store(), plan)});
    looked_->executor->run({});
    return {.name = name,
            .shape = entry.shape,
            .axes = {},
            .buffer = model_.store().buffer(entry).get(),
            .byteOffset = entry.byteOffset,
            .byteSize = entry.byteSize,
            .statistics = statisticsIn(looked_->executor->result(kStatistics))};
}

float Microscope::value(int64_t row, int64_t column) const {
    if (!looked_) throw Error({.what = "no tensor is being looked at", .where = "tensor", .hint = "choose one"});
    if (looked_->tokens > 0) {
        const Shape& shape = looked_->executor->plan().result(kTensor).type.shape;
        return looked_->executor->result(kTensor)[static_cast<size_t>(row * shape.rowStride() + column)];
    }
    const TensorStore::Entry& entry = model_.store().entry(looked_->name);
    float value = 0;
    gpu::Transfer(model_.context())
        .download(model_.store().buffer(entry),
                  entry.byteOffset + static_cast<uint64_t>(row * entry.shape.rowStride() + column) * sizeof(float),
                  std::as_writable_bytes(std::span(&value, 1)));
    return value;
}

Microscope::DeviceTensor Microscope::residualNorms() {
    requireTokens(1);
    constexpr const char* kNorms = "residual norms";
    const auto tokens = static_cast<int64_t>(model_.tokens().size());
    if (!norms_ || norms_->tokens != tokens || !norms_->fits(model_.hookEdits())) {
        norms_ = nullptr;
        const DecoderGraph graph = model_.wholeGraph(tokens);
        std::vector<Tensor> rows;
        const auto add = [&](const std::string& hook) {
            const Tensor squares = unary(graph.graph->probes().at(hook).tensor, Unary::Square); // [T,C]
            rows.push_back(reshape(unary(reduce(squares, Reduction::Sum, {1}), Unary::SquareRoot), {1, tokens}));
        };
        add("blocks.0.hook_resid_pre");
        for (int layer = 0; layer < model_.info().layers; ++layer) add(fmt::format("blocks.{}.hook_resid_post", layer));
        const Tensor all = concatenate(rows, 0); // [layers + 1, T]
        norms_ = std::make_unique<Looking>(
            Looking{.name = kNorms,
                    .tokens = tokens,
                    .axes = "LT",
                    .editedHooks = model_.hookEdits().hooks(),
                    .editedPatterns = model_.hookEdits().patternLayers(),
                    .executor = std::make_unique<GpuExecutor>(
                        model_.context(), model_.kernels(), model_.store(),
                        compile(graph.graph, {{kNorms, all}, {kStatistics, tensorStatistics(all)}}))});
    }
    GpuExecutor& executor = *norms_->executor;
    model_.writeWhole(executor, model_.tokens());
    executor.run({});
    const GpuExecutor::DeviceResult at = executor.deviceResult(kNorms);
    return {.name = kNorms,
            .shape = at.shape,
            .axes = norms_->axes,
            .buffer = at.buffer,
            .byteOffset = at.byteOffset,
            .byteSize = at.byteSize,
            .statistics = statisticsIn(executor.result(kStatistics))};
}

float Microscope::residualNorm(int64_t row, int64_t token) const {
    if (!norms_) throw Error({.what = "no norms are being looked at", .where = "norms", .hint = "ask for them first"});
    const Shape& shape = norms_->executor->plan().result(norms_->name).type.shape;
    return norms_->executor->result(norms_->name)[static_cast<size_t>(row * shape.rowStride() + token)];
}

std::vector<MemoryUse> Microscope::memory() const {
    const ModelInfo& info = model_.info();
    uint64_t views = 0;
    for (const auto& [key, executor] : tiles_) views += executor->deviceBytes();
    for (const auto* looking : {&looked_, &norms_})
        if (*looking) views += (*looking)->executor->deviceBytes();
    for (const auto& [queries, timed] : timed_) views += timed.executor->deviceBytes();
    const auto all = static_cast<int64_t>(model_.context().allocatedBytes()),
               store = static_cast<int64_t>(model_.store().bytes()), plans = model_.planBytes();
    std::vector<MemoryUse> uses{{"weights", info.parameterBytes},
                                {"key/value caches, with queries for views", store - info.parameterBytes},
                                {"plans of steps and tiles", plans},
                                {"views: grids, tensors, norms, timings", static_cast<int64_t>(views)},
                                {"pictures, lens and staging", all - store - plans - static_cast<int64_t>(views)}};
    std::ranges::stable_sort(uses, std::greater(), &MemoryUse::bytes);
    return uses;
}

} // namespace attn
