#include "engine/inference/language_model.h"

#include "engine/core/error.h"
#include "engine/inference/edit_state.h"
#include "engine/inference/graph_sources.h"
#include "engine/inference/step_plan.h"
#include "engine/models/hook_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

namespace attn {
namespace {

/// Numbers of tokens with a prefill plan. A longer prompt runs in pieces.
constexpr std::array<int64_t, 3> kPrefillBuckets{16, 128, 512};
/// Below this number of parameters, a dispatch on software Vulkan costs more than its work, unless it runs on the
/// submitting thread.
constexpr int64_t kInlineParameters = 4'000'000;
constexpr int64_t kMostCapacity = 4096;

} // namespace

LanguageModel::LanguageModel(std::unique_ptr<ModelSource> source, const Options& options, const Progress& progress)
    : source_(std::move(source)), options_(options), capacity_(std::min(source_->config().context, kMostCapacity)),
      edits_(std::make_unique<EditState>()) {
    const auto described =
        isComposed()
            ? buildForListing(config())
            : buildDecoder(config(), {.queries = 1, .cacheCapacity = capacity_, .recordsQueries = options_.inspects});
    info_ = modelInfo(*source_, capacity_);
    info_.parameterCount = parameterCount(*described.graph);
    DeviceChoice choice = options_.device;
    if (!choice.softwareThreads && info_.parameterCount < kInlineParameters) choice.softwareThreads = 0;
    device_ =
        options_.window.device.empty() ? Device::shared(choice) : std::make_shared<Device>(choice, options_.window);
    store_ = std::make_unique<TensorStore>(*device_);
    gates_.assign(config().layers.size() * static_cast<size_t>(config().layers.front().heads.heads), 1.0f);
    for (const std::string& name : described.graph->probeOrder()) info_.hooks.push_back(name);

    auto parameters = sourcesOf(*described.graph, NodeKind::Parameter);
    std::erase_if(parameters, [](const auto& tensor) { // allocated with the plans that need them
        return tensor.first != decoder_names::kRotaryTable && decoder_names::isComputed(tensor.first);
    });
    const auto states = sourcesOf(*described.graph, NodeKind::State);
    const uint64_t needed = paddedBytes(parameters) + paddedBytes(states), available = device_->freeBytes();
    info_.parameterBytes = static_cast<int64_t>(paddedBytes(parameters));
    if (needed > available)
        throw Error(
            {.what = fmt::format("needs {} MiB on the device (parameters {} MiB, cache {} MiB) but {} has {} MiB free",
                                 needed >> 20, paddedBytes(parameters) >> 20, paddedBytes(states) >> 20,
                                 device_->name(), available >> 20),
             .where = info_.path,
             .hint = "close other programs, choose another device or open a smaller model"});
    store_->reserve(parameters);
    store_->reserve(states);
    for (const auto& [name, shape] : parameters)
        if (!decoder_names::isComputed(name))
            info_.parameters.push_back({.name = name,
                                        .sourceName = source_->sourceName(name),
                                        .shape = shape.extents(),
                                        .count = shape.elements()});
    load(progress);
}

LanguageModel::~LanguageModel() = default;

bool LanguageModel::replaceWeights(std::unique_ptr<ModelSource>& source) {
    const auto shapeOf = [](DecoderConfig config) {
        config.name.clear();
        return config;
    };
    const Tokenizer *old = tokenizer(), *other = source->tokenizer();
    if (shapeOf(config()) != shapeOf(source->config()) || !old != !other) return false;
    for (int id = 0; other && id < other->vocabularySize(); ++id)
        if (static_cast<size_t>(id) >= info_.tokenTexts.size() ||
            info_.tokenTexts[static_cast<size_t>(id)] != other->tokenText(id))
            return false;
    source_ = std::move(source);
    tokens_.clear();
    edits_->captured.clear();
    grid_ = {};
    info_.name = config().name;
    info_.warnings.clear();
    load({});
    return true;
}

void LanguageModel::load(const Progress& progress) {
    std::ranges::move(
        loadParameters(*store_, info_.parameters, std::bind_front(&ModelSource::read, source_.get()), progress),
        std::back_inserter(info_.warnings));
    if (store_->contains(decoder_names::kRotaryTable)) {
        const auto rotary =
            std::ranges::find_if(config().layers, [](const LayerAttention& spec) { return spec.rotary.has_value(); });
        store_->writeDense(decoder_names::kRotaryTable, rotaryTableValues(*rotary->rotary, config().context));
    }
}

DecoderGraph LanguageModel::stepGraph(int64_t queries) const {
    return buildDecoder(
        config(),
        {.queries = queries, .cacheCapacity = capacity_, .recordsQueries = options_.inspects, .edited = editedHooks()});
}

std::unique_ptr<LanguageModel::Step> LanguageModel::makeStep(int64_t queries, bool givesLogits,
                                                             const std::set<std::string>& probes) {
    const DecoderGraph graph = stepGraph(queries);
    std::map<std::string, Tensor> outputs(graph.updates.begin(), graph.updates.end());
    if (givesLogits) outputs.emplace("next_logits", graph.nextLogits);
    auto step = std::make_unique<Step>();
    step->queries = queries;
    step->executor =
        std::make_unique<GpuExecutor>(*device_, *store_, compile(graph.graph, outputs, probes, {.alignment = 256}),
                                      GpuExecutorOptions{.profiles = options_.profiles});
    return step;
}

int64_t LanguageModel::bucketFor(size_t tokens) const {
    if (tokens <= 1) return 1;
    // Patterns that changes set are formed for all tokens of the cache.
    const bool formsPatterns = !isBypassed_ && !edits_->hooks.patterns().empty();
    const int64_t most = std::min(capacity_, formsPatterns ? kPrefillBuckets[1] : kPrefillBuckets.back());
    for (int64_t bucket : kPrefillBuckets)
        if (static_cast<int64_t>(tokens) <= bucket && bucket <= most) return bucket;
    return most;
}

std::map<int64_t, std::unique_ptr<LanguageModel::Step>>& LanguageModel::currentSteps() {
    return editedHooks().empty() ? steps_ : editedSteps_;
}

const LanguageModel::Step* LanguageModel::decodeStep() const {
    const auto& steps = editedHooks().empty() ? steps_ : editedSteps_;
    const auto found = steps.find(isComposed() ? capacity_ : 1);
    return found == steps.end() ? nullptr : found->second.get();
}

bool LanguageModel::warmUp() {
    if (isComposed()) return false;
    for (int64_t bucket : kPrefillBuckets) {
        const auto tokens = static_cast<size_t>(bucket);
        if (currentSteps().contains(bucketFor(tokens))) continue;
        StepParams params; // no query: the kernels are built and return at once
        params[StepScalar::CacheOffset] = params[StepScalar::KeyLength] = static_cast<uint32_t>(tokens_.size());
        stepFor(tokens).executor->run(params);
        return true;
    }
    return false;
}

LanguageModel::Step& LanguageModel::stepFor(size_t tokens) {
    const int64_t queries = bucketFor(tokens);
    auto& step = currentSteps()[queries];
    if (!step) {
        std::set<std::string> probes;
        if (queries == 1 && options_.inspects)
            for (int layer = 0; layer < info_.layers; ++layer) probes.insert(attentionHook(layer, "pattern"));
        step = makeStep(queries, queries == 1 || !options_.inspects, probes); // see feed()
    }
    return *step;
}

void LanguageModel::writeGates(GpuExecutor& executor) const {
    for (int layer = 0; layer < info_.layers; ++layer) {
        const std::string name = inBlock(layer, "attn.gates");
        if (!executor.hasInput(name)) continue; // without logits, the last layer only fills its cache
        const std::span<float> input = executor.input(name);
        if (isBypassed_)
            std::ranges::fill(input, 1.0f);
        else
            std::copy_n(gates_.begin() + layer * info_.heads, info_.heads, input.begin());
    }
}

StepParams LanguageModel::writeStep(GpuExecutor& executor, size_t first, std::span<const int> tokens) const {
    const std::span<int32_t> ids = executor.inputIntegers(decoder_names::kTokens),
                             positions = executor.inputIntegers(decoder_names::kPositions);
    for (size_t i = 0; i < tokens.size(); ++i) {
        ids[i] = tokens[i];
        positions[i] = static_cast<int32_t>(first + i);
    }
    writeGates(executor);
    writeEdits(executor, first, tokens.size());
    StepParams params;
    params[StepScalar::QueryLength] = static_cast<uint32_t>(tokens.size());
    params[StepScalar::CacheOffset] = static_cast<uint32_t>(first);
    params[StepScalar::KeyLength] = static_cast<uint32_t>(first + tokens.size());
    return params;
}

bool LanguageModel::runStep(Step& step, std::span<const int> tokens, const Cancelled& isCancelled) {
    const StepParams params = writeStep(*step.executor, tokens_.size(), tokens);
    invalidateLongPatterns(tokens_.size());
    if (!step.executor->run(params, isCancelled)) return false;
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    return true;
}

void LanguageModel::truncate(size_t length) {
    if (length < tokens_.size()) tokens_.resize(length);
}

bool LanguageModel::feed(std::span<const int> tokens, const Cancelled& isCancelled) {
    if (tokens.empty()) return true;
    if (tokens_.size() + tokens.size() > static_cast<size_t>(capacity_))
        throw Error({.what = fmt::format("{} tokens do not fit into the context of {}", tokens_.size() + tokens.size(),
                                         capacity_),
                     .where = info_.name,
                     .hint = "shorten the prompt"});
    for (int token : tokens)
        if (token < 0 || token >= info_.vocabulary)
            throw Error({.what = fmt::format("token {} is outside the vocabulary of {}", token, info_.vocabulary),
                         .where = info_.name,
                         .hint = "use the tokenizer that belongs to the model"});
    if (isComposed()) return feedComposed(tokens, isCancelled);
    const size_t before = tokens_.size();
    while (!tokens.empty()) {
        // For views, the last token runs separately: its plan also gives the newest row of every head.
        const size_t most = options_.inspects && tokens.size() > 1 ? tokens.size() - 1 : tokens.size();
        Step& step = stepFor(most);
        const size_t count = std::min(most, static_cast<size_t>(step.queries));
        if (!runStep(step, tokens.first(count), isCancelled)) {
            truncate(before);
            return false;
        }
        tokens = tokens.subspan(count);
        if (tokens.empty()) {
            const auto result = step.executor->result("next_logits");
            logits_.assign(result.begin(), result.begin() + info_.vocabulary);
        }
    }
    return true;
}

NewestRows LanguageModel::newestRows() const {
    const auto keys = static_cast<int>(tokens_.size());
    NewestRows rows{.sites = info_.layers, .heads = info_.heads, .keys = keys, .values = {}};
    if (isComposed()) {
        for (int layer = 0; layer < info_.layers && keys > 0; ++layer)
            for (int head = 0; head < info_.heads; ++head) {
                const auto row = composedRow(layer, head, keys - 1, 0, keys);
                rows.values.insert(rows.values.end(), row.begin(), row.end());
                rows.values.resize(static_cast<size_t>((layer * info_.heads + head + 1) * keys), 0);
            }
        return rows;
    }
    const Step* step = decodeStep();
    if (!options_.inspects || !step || keys == 0) return rows;
    for (int layer = 0; layer < info_.layers; ++layer) {
        const std::span<const float> pattern = step->executor->result(attentionHook(layer, "pattern")); // [H,1,S]
        const auto stride = static_cast<size_t>(Shape{capacity_}.rowStride());
        for (int head = 0; head < info_.heads; ++head) {
            const auto row = pattern.subspan(static_cast<size_t>(head) * stride, static_cast<size_t>(keys));
            rows.values.insert(rows.values.end(), row.begin(), row.end());
        }
    }
    return rows;
}

void LanguageModel::setGate(int layer, int head, float gate) {
    grid_ = {}; // every pattern after this layer may change
    for (int l = 0; l < info_.layers; ++l)
        for (int h = 0; h < info_.heads; ++h)
            if ((layer < 0 || layer == l) && (head < 0 || head == h))
                gates_[static_cast<size_t>(l * info_.heads + h)] = gate;
}

std::vector<gpu::Stretch> LanguageModel::profile() const {
    const Step* step = decodeStep();
    return step ? step->executor->profile() : std::vector<gpu::Stretch>{};
}

int64_t LanguageModel::planBytes() const {
    uint64_t bytes = 0;
    for (const auto& [queries, step] : steps_) bytes += step->executor->deviceBytes();
    for (const auto& [queries, step] : editedSteps_) bytes += step->executor->deviceBytes();
    for (const auto& [size, step] : grids_) bytes += step->executor->deviceBytes();
    for (const auto& [key, step] : tiles_) bytes += step->executor->deviceBytes();
    return static_cast<int64_t>(bytes);
}

size_t LanguageModel::pipelineCount() const { return device_->kernelCount(); }
int64_t LanguageModel::deviceBytes() const { return static_cast<int64_t>(device_->allocatedBytes()); }

} // namespace attn
