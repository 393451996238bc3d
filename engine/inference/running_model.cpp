#include "engine/inference/running_model.h"

#include "engine/core/error.h"
#include "engine/inference/change_inputs.h"
#include "engine/inference/language_model.h"
#include "engine/inference/linear_readout.h"
#include "engine/inference/value_change_rows.h"
#include "engine/inference/vision_model.h"
#include "engine/inference/wrong_model.h"
#include "engine/runtime/dense_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace attn {
namespace {

constexpr size_t kMostSources = 8; ///< number of inputs whose original values are kept

/// The mean of a hook over its rows, as one row.
CapturedHook meanOf(const CapturedHook& hook) {
    const auto count = static_cast<size_t>(hook.shape[0]), width = hook.values.size() / count;
    CapturedHook mean{.name = hook.name, .shape = {1, static_cast<int64_t>(width)}, .values = {}};
    mean.values.assign(width, 0);
    for (size_t i = 0; i < hook.values.size(); ++i)
        mean.values[i % width] += hook.values[i] / static_cast<float>(count);
    return mean;
}

} // namespace

RunningModel::RunningModel(std::unique_ptr<ModelSource> source, AxisKind axis) : source_(std::move(source)) {
    if (config().axis == axis) return;
    if (axis == AxisKind::Patches)
        throw WrongModel({.what = "this model reads text, not pictures",
                          .where = config().name,
                          .hint = "leave out --image, or name a vision model"});
    throw WrongModel(
        {.what = fmt::format("this is a vision model ({}); it reads pictures, not text", source_->familyTitle()),
         .where = config().name,
         .hint = "give it a picture: 'attention-cli classify', 'capture' or 'render' PATH --image FILE, or "
                 "open it in attention-lab"});
}

RunningModel::~RunningModel() = default;

int64_t RunningModel::deviceBytes() const { return static_cast<int64_t>(device_->allocatedBytes()); }

Run RunningModel::run(const Input& input, const Changes& changes, const Wanted& wanted) {
    require(input);
    setChanges(changes, input);
    Run result;
    if (!wanted.hooks.empty()) result.hooks = capture(input, wanted.hooks);
    if (wanted.prediction) result.prediction = predict(input);
    return result;
}

namespace {

bool mayBar(const ModelSpec& spec, const std::string& parameter) {
    if (parameter == "unembed.b_U") return true;
    const ReadoutSpec& readout = spec.classReadout();
    const bool isOfClasses = parameter == "classifier.b" || parameter.ends_with("head.b_H");
    return isOfClasses && readout.kind != TextReadout::Span && readout.activation == ClassActivation::Softmax;
}

} // namespace

std::unique_ptr<RunningModel> loadModel(std::unique_ptr<ModelSource> source, const LoadOptions& options,
                                        const RunningModel::Progress& progress) {
    if (source->config().axis == AxisKind::Patches)
        return std::make_unique<VisionModel>(std::move(source), options, progress);
    return std::make_unique<LanguageModel>(std::move(source), options, progress);
}

Tensor RunningModel::linearReadout(Tensor stream, Tensor row) const {
    return attn::linearReadout(config(), stream, row);
}

void RunningModel::describe(int64_t capacity) {
    const ModelInfo fresh = modelInfo(*source_, capacity);
    info_.name = fresh.name;
    info_.structure = fresh.structure;
    info_.contextLength = fresh.contextLength;
    info_.warnings = fresh.warnings;
    info_.leftOut = fresh.leftOut;
    info_.settings = fresh.settings;
}

bool RunningModel::replaceWeights(std::unique_ptr<ModelSource>& source) {
    ModelSpec spec = source->config();
    spec.name = config().name;
    const Tokenizer *old = source_->tokenizer(), *other = source->tokenizer();
    if (spec != config() || source->preprocessing() != source_->preprocessing() || !old != !other) return false;
    for (int id = 0; other && id < other->vocabularySize(); ++id)
        if (static_cast<size_t>(id) >= info_.tokenTexts.size() ||
            info_.tokenTexts[static_cast<size_t>(id)] != other->tokenText(id))
            return false;
    source_ = std::move(source);
    dropInput();
    known_.clear();
    changesChanged(false); // what was computed with the former parameters is old
    describe(info_.contextLength);
    load({});
    return true;
}

void RunningModel::prepare(const LoadOptions& options, const ModelGraph& listing, bool isSmall) {
    const SharedParameters& shared = options.shared;
    const Storage storage = options.storage;
    deviceChoice_ = options.device;
    if (!deviceChoice_.softwareThreads && isSmall) deviceChoice_.softwareThreads = 0;
    if (shared.store)
        device_ = shared.device;
    else
        device_ = options.window.device.empty() ? Device::shared(deviceChoice_)
                                                : std::make_shared<Device>(deviceChoice_, options.window);
    store_ = shared.store ? shared.store : std::make_shared<TensorStore>(*device_);
    gates_.assign(static_cast<size_t>(info_.siteCount() * info_.heads), 1.0f);
    info_.hooks = listing.graph->probeOrder();

    auto parameters = sourcesOf(*listing.graph, NodeKind::Parameter);
    std::erase_if(parameters, [](const auto& tensor) { // allocated with the plans that need them
        return decoder_names::isComputed(tensor.first);
    });
    const auto states = sourcesOf(*listing.graph, NodeKind::State);
    const TensorStore::StorageOf storageOf = storageRule(*listing.graph, storage);
    uint64_t parameterBytes = 0;
    for (const auto& [name, shape] : parameters) parameterBytes += storedBytes(shape, storageOf(name, shape));
    const uint64_t needed = (shared.store ? 0 : parameterBytes) + paddedBytes(states), available = device_->freeBytes();
    info_.parameterBytes = static_cast<int64_t>(parameterBytes);
    info_.storage = storage;
    if (needed > available)
        throw Error(
            {.what = fmt::format("needs {} MiB on the device (parameters {} MiB, cache {} MiB) but {} has {} MiB free",
                                 needed >> 20, parameterBytes >> 20, paddedBytes(states) >> 20, device_->name(),
                                 available >> 20),
             .where = {}, // whoever opens the model knows it
             .hint = "close other programs, choose another device, keep the weights in fewer bits, or open a smaller "
                     "model"});
    store_->reserve(parameters, storageOf);
    store_->reserve(states);
    for (const auto& [name, shape] : parameters)
        info_.parameters.push_back({.name = name,
                                    .sourceName = source_->sourceName(name),
                                    .shape = shape.extents(),
                                    .count = shape.elements(),
                                    .mayBar = mayBar(config(), name)});
}

void RunningModel::load(const Progress& progress) {
    const TensorStore* stored = source_->stored();
    const auto read = [&](const std::string& name, const Shape& shape, const RowWriter& write) -> int64_t {
        if (!stored) return source_->read(name, shape, write);
        const std::vector<float> values = stored->read(name); // to be rounded to the storage of this model
        writeRows(values, shape, write);
        return std::ranges::count_if(values, [](float value) { return !std::isfinite(value); });
    };
    std::vector<std::string> strange;
    if (stored && info_.storage == Storage::F32) {
        if (!copy_) copy_ = std::make_unique<ParameterCopy>(*device_, *store_, info_.parameters);
        strange = copy_->run(*stored);
    } else {
        strange = loadParameters(*store_, info_.parameters, read, progress);
    }
    std::ranges::move(strange, std::back_inserter(info_.warnings));
}

void RunningModel::setGate(int site, int head, float gate) {
    changesChanged(false);
    for (int s = 0; s < info_.siteCount(); ++s)
        for (int h = 0; h < info_.heads; ++h)
            if ((site < 0 || site == s) && (head < 0 || head == h))
                gates_[static_cast<size_t>(s * info_.heads + h)] = gate;
}

void RunningModel::bypassChanges(bool isBypassed) {
    if (std::exchange(isBypassed_, isBypassed) != isBypassed) changesChanged(false);
}

bool RunningModel::isChanged() const {
    return !hookChanges_.empty() || std::ranges::any_of(gates_, [](float gate) { return gate != 1; });
}

std::set<std::string> RunningModel::changedHooks() const {
    if (isBypassed_) return {};
    std::set<std::string> names = hookChanges_.hooks();
    for (const int site : hookChanges_.patternLayers()) {
        names.insert(info_.site(site).hook("pattern"));
        names.insert(info_.site(site).hook("z")); // applies the gates
    }
    return names;
}

void RunningModel::setHookChanges(HookChanges hookChanges) {
    const bool isOtherSet =
        hookChanges.hooks() != hookChanges_.hooks() || hookChanges.patternLayers() != hookChanges_.patternLayers();
    hookChanges_ = std::move(hookChanges);
    changesChanged(isOtherSet);
}

void RunningModel::applyChanges(const Changes& changes, const Input& own, const std::optional<Input>& other) {
    setHookChanges(converted(changes, own, other));
}

void RunningModel::setChanges(const Changes& changes, const Input& own, const std::optional<Input>& other) {
    for (const auto& [at, gate] : changes.gates) info_.requireHead(at.first, at.second);
    applyChanges(changes, own, other);
    setGate(-1, -1, 1);
    for (const auto& [at, gate] : changes.gates) setGate(at.first, at.second, gate);
}

HookChanges RunningModel::converted(const Changes& changes, const Input& own, const std::optional<Input>& other) {
    HookChanges result;
    if (changes.valueChanges.empty() && changes.patterns.empty()) return result;
    const ModelGraph all = listing();
    for (ValueChange change : changes.valueChanges) {
        const HookShape shape = editableShape(*all.graph, change, info_.name);
        const bool isSteered = change.kind == ValueChange::Kind::Steer;
        // Steering adds the last token of a text, in which the others end, but the mean of a picture's tokens.
        const auto axis = static_cast<size_t>(info_.structure.axisOf(change.hook, 'T'));
        const bool addsMean = isSteered && info_.structure.axes[axis].kind == AxisKind::Patches;
        for (int* position : {&change.position, &change.textPosition}) *position = rowOf(change.hook, *position);
        result.declare(change.hook, shape.heads, shape.width);
        std::optional<CapturedHook> values, contrast;
        if (change.kind != ValueChange::Kind::Zero) {
            values = valuesOf(sourceOf(change, false, own, other), change.hook);
            if (addsMean && change.textPosition < 0) values = meanOf(*values);
        }
        if (isSteered && !change.contrast.empty()) {
            contrast = valuesOf(sourceOf(change, true, own, other), change.hook);
            if (addsMean) contrast = meanOf(*contrast);
        }
        if (auto rows = attn::rowsOf(change, shape, values ? &*values : nullptr, contrast ? &*contrast : nullptr))
            result.add(change.hook, std::move(*rows));
    }
    for (const PatternChange& change : changes.patterns) {
        info_.requireHead(change.site, change.head);
        if (!all.graph->probes().contains(info_.site(change.site).hook("pattern")))
            throw Error(
                {.what = fmt::format("the attention of {} forms no pattern", info_.structure.labelOf(change.site)),
                 .where = info_.name,
                 .hint = "set the head's gate to 0, or change hook_z"});
        result.set(change);
        const Site& site = info_.site(change.site);
        result.declare(site.hook("z"), site.heads, int64_t{site.heads} * site.headWidth);
    }
    return result;
}

CapturedHook RunningModel::valuesOf(const Input& input, const std::string& hook) {
    auto found = std::ranges::find(known_, input, &Known::input);
    if (found == known_.end()) {
        if (known_.size() >= kMostSources) known_.clear();
        known_.push_back({input, {}});
        found = std::prev(known_.end());
    }
    if (const auto value = found->hooks.find(hook); value != found->hooks.end()) return value->second;
    const Bypassed bypassed(*this);
    return found->hooks.emplace(hook, originalValues(input, hook)).first->second;
}

std::vector<float> RunningModel::predictFrom(const Input& input, size_t) { return predict(input); }
size_t RunningModel::predictedRow(const Input&) const { return 0; }

ModelGraph RunningModel::wholeGraph(const Input& input, WholeBuild build) const {
    require(input);
    build.changed.merge(changedHooks());
    return graphOf(input, build);
}

void RunningModel::writeWhole(GpuExecutor& executor, const Input& input) const {
    writeInput(executor, input);
    writeGates(executor);
    writeChanges(executor, 0, changedRows(input));
}

std::vector<float> RunningModel::formedLogits(const Input& input) {
    const ModelGraph graph = wholeGraph(input, {.isFormed = true});
    const Tensor readout = graph.logits ? graph.logits : info_.classes > 0 ? graph.classes : Tensor();
    if (!readout)
        throw Error({.what = "this model predicts neither tokens nor classes of a whole text",
                     .where = info_.name,
                     .hint = "open a model that does"});
    const auto executor = executorOf(graph, {{"formed_logits", readout}});
    writeWhole(*executor, input);
    executor->run({});
    std::vector<float> logits = denseResult(*executor, "formed_logits");
    const size_t rows = input.isText() ? input.tokens().size() : 1;
    logits.resize(rows * static_cast<size_t>(choices())); // without rows of padding; a classifier may have fewer
    return logits;
}

std::vector<int> RunningModel::rowsOfInput(int) const { return {}; }
bool RunningModel::ordersByWindow(int) const { return false; }
void RunningModel::requireSameRows(const std::string&) const {}

int RunningModel::rowOf(const std::string&, int token) const { return token; }

std::unique_ptr<GpuExecutor> RunningModel::executorOf(const ModelGraph& graph,
                                                      const std::map<std::string, Tensor>& outputs,
                                                      const std::set<std::string>& probes,
                                                      const GpuExecutorOptions& options) {
    const auto plan = compile(graph.graph, outputs, probes, {.alignment = 256});
    writeConstants(*store_, *plan, graph.partTensors);
    return std::make_unique<GpuExecutor>(*device_, *store_, plan, options);
}

std::vector<std::string> RunningModel::matchHooks(const std::string& globs) const {
    return attn::matchHooks(info_.hooks, globs, info_.name);
}

void RunningModel::writeGates(GpuExecutor& executor) const {
    for (int site = 0; site < info_.siteCount(); ++site) {
        const std::string name = info_.site(site).inSite("gates");
        if (!executor.hasInput(name)) continue; // without logits, the last layer only fills its cache
        const std::span<float> input = executor.input(name);
        if (isBypassed_)
            std::ranges::fill(input, 1.0f);
        else
            std::copy_n(gates_.begin() + site * info_.heads, info_.site(site).heads, input.begin());
    }
}

void RunningModel::writeChanges(GpuExecutor& executor, size_t first, std::optional<size_t> count) const {
    if (isBypassed_) return;
    for (const std::string& hook : hookChanges_.hooks())
        if (const auto inputs = changeInputs(executor, hook)) // without logits, the last layer only fills its cache
            hookChanges_.write(hook, first, count.value_or(static_cast<size_t>(inputs->shape[0])), inputs->stride(),
                               inputs->kept, inputs->added);
    for (const int site : hookChanges_.patternLayers()) {
        const size_t rows = count.value_or(static_cast<size_t>(rowsOf(site)));
        writeGatesOfFormed(executor, info_.site(site), rows,
                           std::span(gates_).subspan(static_cast<size_t>(site * info_.heads),
                                                     static_cast<size_t>(info_.site(site).heads)));
        const auto pattern = changeInputs(executor, info_.site(site).hook("pattern"));
        if (!pattern) continue;
        pattern->keepAll();
        for (const auto& [at, change] : hookChanges_.patterns())
            if (at.first == site) writePattern(*pattern, change, first, rows);
    }
}

} // namespace attn
