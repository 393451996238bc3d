#include "engine/inference/vision_model.h"

#include "engine/core/error.h"
#include "engine/inference/pattern_gradients.h"
#include "engine/models/decoder.h"
#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"
#include "engine/models/vision_encoder.h"
#include "engine/ops/tensor_ops.h"
#include "engine/runtime/gpu_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

namespace attn {
namespace {

/// Below about this number of products, a dispatch on software Vulkan costs more than its work, unless it runs on the
/// submitting thread.
constexpr int64_t kInlineProducts = 16'000'000;

constexpr size_t kMostCapturers = 3; // kept at a time, because each has the memory of a run

constexpr const char* kResult = "result"; // the logits, or the input of a classifier
constexpr const char* kLabel = "label";   // Input [1, classes]: 1 for the class whose logit is differentiated

std::string gradientName(int layer) { return inBlock(layer, "attn.pattern_gradient"); }

} // namespace

VisionModel::VisionModel(std::unique_ptr<VisionSource> source, const DeviceChoice& wanted, const Progress& progress)
    : source_(std::move(source)) {
    const VisionGraph described = buildVisionEncoder(config());
    info_ = modelInfo(*source_);
    info_.hooks = described.graph->probeOrder();
    info_.parameterCount = parameterCount(*described.graph);
    DeviceChoice choice = wanted;
    if (!choice.softwareThreads && info_.parameterCount * config().tokens() < kInlineProducts)
        choice.softwareThreads = 0;
    device_ = Device::shared(choice);
    store_ = std::make_unique<TensorStore>(*device_);
    gates_.assign(static_cast<size_t>(info_.layers * info_.heads), 1.0f);

    auto parameters = sourcesOf(*described.graph, NodeKind::Parameter);
    std::erase_if(parameters, [](const auto& tensor) { return decoder_names::isComputed(tensor.first); });
    const uint64_t needed = paddedBytes(parameters), available = device_->freeBytes();
    info_.parameterBytes = static_cast<int64_t>(needed);
    if (needed > available)
        throw Error({.what = fmt::format("needs {} MiB on the device for its parameters but {} has {} MiB free",
                                         needed >> 20, device_->name(), available >> 20),
                     .where = info_.name,
                     .hint = "close other programs, choose another device or open a smaller model"});
    store_->reserve(parameters);
    for (const auto& [name, shape] : parameters)
        info_.parameters.push_back({.name = name,
                                    .sourceName = source_->sourceName(name),
                                    .shape = shape.extents(),
                                    .count = shape.elements()});
    load(progress);
}

VisionModel::~VisionModel() = default;

void VisionModel::load(const Progress& progress) {
    std::ranges::move(
        loadParameters(*store_, info_.parameters, std::bind_front(&VisionSource::read, source_.get()), progress),
        std::back_inserter(info_.warnings));
}

bool VisionModel::takeWeights(std::unique_ptr<VisionSource>& source) {
    VisionConfig other = source->config();
    other.name = config().name;
    if (other != config() || source->preprocessing() != source_->preprocessing() || source->labels() != info_.labels)
        return false;
    source_ = std::move(source);
    info_.warnings = source_->warnings();
    values_.clear();
    load({});
    return true;
}

int64_t VisionModel::deviceBytes() const { return static_cast<int64_t>(device_->allocatedBytes()); }

Image VisionModel::seen(const Image& image) const {
    Image result = fitted(image, source_->preprocessing());
    if (result.size() != config().image)
        throw Error(
            {.what = fmt::format("the picture is {} x {} pixels but the model reads {} x {} and its preprocessing "
                                 "does not resize",
                                 result.width, result.height, config().image.width, config().image.height),
             .where = info_.name,
             .hint = fmt::format("choose a picture of {} x {} pixels", config().image.width, config().image.height)});
    return result;
}

std::vector<float> VisionModel::patchesOf(const Image& image) const {
    const Image picture = seen(image);
    return cutPatches(pixelsOf(picture, source_->preprocessing()), config().channels, picture.size(), config().patch);
}

void VisionModel::setGate(int layer, int head, float gate) {
    for (int l = 0; l < info_.layers; ++l)
        for (int h = 0; h < info_.heads; ++h)
            if ((layer < 0 || layer == l) && (head < 0 || head == h))
                gates_[static_cast<size_t>(l * info_.heads + h)] = gate;
}

VisionGraph VisionModel::wholeGraph(VisionBuild build) const {
    build.edited.merge(editedHooks());
    return buildVisionEncoder(config(), build);
}

std::unique_ptr<GpuExecutor> VisionModel::executorOf(const VisionGraph& encoder,
                                                     const std::map<std::string, Tensor>& outputs) {
    const auto plan = compile(encoder.graph, outputs, {}, {.alignment = 256});
    writeConstants(*store_, *plan, encoder.composed);
    return std::make_unique<GpuExecutor>(*device_, *store_, plan);
}

std::unique_ptr<GpuExecutor> VisionModel::makeExecutor(const std::set<std::string>& probes) {
    const VisionGraph encoder = wholeGraph({});
    const auto plan = compile(encoder.graph, {{kResult, encoder.logits ? encoder.logits : encoder.pooled}}, probes,
                              {.alignment = 256});
    writeConstants(*store_, *plan, encoder.composed);
    return std::make_unique<GpuExecutor>(*device_, *store_, plan);
}

void VisionModel::write(GpuExecutor& executor, std::span<const float> patches) const {
    const Shape shape{config().grid().area(), config().patchValues()};
    if (static_cast<int64_t>(patches.size()) != shape.elements())
        throw Error(
            {.what = fmt::format("{} values are not {} patches of {} values", patches.size(), shape[0], shape[1]),
             .where = info_.name,
             .hint = "use the image size and patch size of the model"});
    const std::span<float> input = executor.input(vision_names::kPatches);
    writeRows(patches, shape, [&](const auto& fill) { fill(0, input); });
    for (int layer = 0; layer < info_.layers; ++layer) {
        const std::string name = inBlock(layer, "attn.gates");
        if (!executor.hasInput(name)) continue;
        const std::span<float> gates = executor.input(name);
        const auto heads = static_cast<size_t>(info_.site(layer).heads);
        for (size_t head = 0; head < heads; ++head)
            gates[head] = isBypassed_ ? 1 : gates_[static_cast<size_t>(layer * info_.heads) + head];
    }
    writeEdits(executor);
}

bool VisionModel::run(GpuExecutor& executor, std::span<const float> patches, const Cancelled& isCancelled) {
    write(executor, patches);
    return executor.run({}, isCancelled);
}

std::vector<float> VisionModel::classify(std::span<const float> patches, const Cancelled& isCancelled) {
    requireHead();
    auto& classifier = runs().classifier;
    if (!classifier) classifier = makeExecutor({});
    if (!run(*classifier, patches, isCancelled)) return {};
    const auto logits = classifier->result(kResult);
    return {logits.begin(), logits.begin() + info_.classes};
}

std::vector<CapturedHook> VisionModel::capture(std::span<const float> patches, const std::string& hooks) {
    const std::vector<std::string> names = matchHooks(info_.hooks, hooks, info_.name);
    const std::set<std::string> probes(names.begin(), names.end());
    auto& capturers = runs().capturers;
    if (capturers.size() >= kMostCapturers && !capturers.contains(probes)) capturers.clear();
    auto& capturer = capturers[probes];
    if (!capturer) capturer = makeExecutor(probes);
    run(*capturer, patches, {});
    std::vector<CapturedHook> captured;
    for (const std::string& name : names) {
        const Shape& shape = capturer->plan().result(name).type.shape;
        captured.push_back({name, shape, denseValues(capturer->result(name), shape)});
    }
    return captured;
}

VisionModel::PatternsAndLogits VisionModel::patternsAndLogits(std::span<const float> patches, std::optional<int> only) {
    PatternsAndLogits result;
    const std::vector<LayerLayout> layouts = layerLayouts(config());
    for (size_t layer = 0; layer < layouts.size(); ++layer)
        result.patterns.push_back(
            {.layout = layouts[layer], .heads = info_.structure.sites[layer].heads, .values = {}});
    const auto is = [](const std::string& hook, const char* end) { return hook.ends_with(end); };
    const auto isWanted = [&](const std::string& hook) {
        if (is(hook, ".hook_pattern")) return !only || splitName(hook).layer == *only;
        return is(hook, ".hook_pooled_into") || (hook == "logits" && info_.classes > 0 && !only);
    };
    std::string hooks;
    for (const std::string& hook : info_.hooks)
        if (isWanted(hook)) hooks += (hooks.empty() ? "" : ",") + hook;
    if (hooks.empty()) return result;
    for (CapturedHook& hook : capture(patches, hooks)) {
        const auto layer = static_cast<size_t>(std::max(0, splitName(hook.name).layer));
        if (hook.name == "logits")
            result.logits = std::move(hook.values);
        else if (is(hook.name, ".hook_pattern"))
            result.patterns[layer].values = std::move(hook.values);
        else
            for (size_t later = layer; later < layouts.size(); ++later)
                result.patterns[later].layout =
                    pooledLayout(result.patterns[layer - 1].layout, {hook.values.begin(), hook.values.end()},
                                 config().tokensOf(static_cast<int64_t>(later)) - config().prefix());
    }
    return result;
}

void VisionModel::requireHead() const {
    if (info_.classes == 0)
        throw Error({.what = "this model has no classifier",
                     .where = info_.name,
                     .hint = "open a model with a classifier; this one only gives features and patterns"});
}

std::unique_ptr<GpuExecutor> VisionModel::makeDifferentiator() {
    const VisionGraph encoder = wholeGraph({.mayTrain = true});
    const Tensor label = encoder.graph->input(kLabel, {.shape = {1, config().classes}});
    const std::vector<Tensor> gradients = attn::patternGradients(encoder, sum(multiply(encoder.logits, label)));
    std::map<std::string, Tensor> outputs;
    for (int layer = 0; layer < info_.layers; ++layer) {
        const Tensor gradient = gradients[static_cast<size_t>(layer)];
        if (!gradient)
            throw Error({.what = fmt::format("layer {} forms no pattern", layer),
                         .where = info_.name,
                         .hint = "gradients need a pattern in every layer"});
        outputs.emplace(gradientName(layer), gradient);
    }
    return executorOf(encoder, outputs);
}

std::vector<std::vector<float>> VisionModel::patternGradients(std::span<const float> patches, int label,
                                                              const Cancelled& isCancelled) {
    requireHead();
    if (label < 0 || label >= info_.classes)
        throw Error({.what = fmt::format("there is no class {}", label),
                     .where = info_.name,
                     .hint = fmt::format("classes are 0 to {}", info_.classes - 1)});
    auto& differentiator = runs().differentiator;
    if (!differentiator) differentiator = makeDifferentiator();
    const std::span<float> labels = differentiator->input(kLabel);
    std::ranges::fill(labels, 0.0f);
    labels[static_cast<size_t>(label)] = 1;
    if (!run(*differentiator, patches, isCancelled)) return {};
    std::vector<std::vector<float>> result;
    for (int layer = 0; layer < info_.layers; ++layer) {
        const std::string name = gradientName(layer);
        result.push_back(denseValues(differentiator->result(name), differentiator->plan().result(name).type.shape));
    }
    return result;
}

std::vector<float> VisionModel::patchPositions() const {
    if (config().positions == VisionPositions::None) return {};
    if (config().positions == VisionPositions::Sinusoidal) return sinusoidalGrid(config().grid(), config().modelWidth);
    const std::vector<float> table = store_->read(vision_names::kPositions);
    const auto patches = static_cast<size_t>(config().grid().area() * config().modelWidth);
    return {table.end() - static_cast<std::ptrdiff_t>(patches), table.end()};
}

std::vector<float> VisionModel::patchFilters() const { return store_->read("embed.W_E"); }

std::vector<float> probabilitiesOf(std::span<const float> logits) {
    std::vector<float> result(logits.begin(), logits.end());
    if (result.empty()) return result;
    const float largest = *std::ranges::max_element(result);
    double sum = 0;
    for (float& value : result) {
        value = std::exp(value - largest);
        sum += static_cast<double>(value);
    }
    for (float& value : result) value = static_cast<float>(value / sum);
    return result;
}

} // namespace attn
