#include "engine/inference/vision_model.h"

#include "engine/core/error.h"
#include "engine/core/made_once.h"
#include "engine/inference/wrong_model.h"
#include "engine/models/hook_names.h"
#include "engine/models/patch_stream.h"
#include "engine/runtime/dense_result.h"

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

} // namespace

VisionModel::VisionModel(std::unique_ptr<ModelSource> source, const LoadOptions& options, const Progress& progress)
    : RunningModel(std::move(source), AxisKind::Patches) {
    const ModelGraph described = listing();
    info_ = modelInfo(*source_);
    info_.parameterCount = parameterCount(*described.graph);
    prepare(options, described, info_.parameterCount * config().patches.tokens() < kInlineProducts);
    load(progress);
}

VisionModel::~VisionModel() = default;

Image VisionModel::seen(const Image& image) const {
    Image result = fitted(image, source_->preprocessing());
    if (result.size() != config().patches.image)
        throw Error({.what = fmt::format(
                         "the picture is {} x {} pixels but the model reads {} x {} and its preprocessing "
                         "does not resize",
                         result.width, result.height, config().patches.image.width, config().patches.image.height),
                     .where = info_.name,
                     .hint = fmt::format("choose a picture of {} x {} pixels", config().patches.image.width,
                                         config().patches.image.height)});
    return result;
}

std::vector<float> VisionModel::patchesOf(const Image& image) const {
    const Image picture = seen(image);
    const std::vector<float> pixels = pixelsOf(picture, source_->preprocessing());
    if (!std::ranges::all_of(pixels, [](float value) { return std::isfinite(value); }))
        throw Error({.what = "the numbers of the prepared picture are not finite",
                     .where = info_.name,
                     .hint = "check rescale_factor, image_mean and image_std in preprocessor_config.json"});
    return cutPatches(pixels, config().patches.channels, picture.size(), config().patches.patch);
}

void VisionModel::require(const Input& input) const {
    if (!input.tokens().empty())
        throw Error({.what = "this model reads pictures, not text", .where = info_.name, .hint = "choose a picture"});
    const Shape shape{config().patches.grid().area(), config().patches.patchValues()};
    if (static_cast<int64_t>(input.patches().size()) == shape.elements()) return;
    throw Error(
        {.what = fmt::format("{} values are not {} patches of {} values", input.patches().size(), shape[0], shape[1]),
         .where = info_.name,
         .hint = "use the image size and patch size of the model"});
}

ModelGraph VisionModel::graphOf(const Input&, const WholeBuild& build) const {
    return buildModel(config(), {.isFormed = build.isFormed,
                                 .needsGradients = build.needsGradients,
                                 .changed = build.changed,
                                 .readsAllLayers = build.readsAllLayers});
}

std::unique_ptr<GpuExecutor> VisionModel::makeExecutor(const std::set<std::string>& probes) {
    const ModelGraph encoder = graphOf({}, {.changed = changedHooks()});
    return executorOf(encoder, {{kResult, encoder.logits ? encoder.logits : encoder.pooled}}, probes);
}

void VisionModel::writeInput(GpuExecutor& executor, const Input& input) const {
    require(input);
    const std::span<float> patches = executor.input(vision_names::kPatches);
    writeRows(input.patches(), {config().patches.grid().area(), config().patches.patchValues()},
              [&](const auto& fill) { fill(0, patches); });
}

bool VisionModel::run(GpuExecutor& executor, const Input& picture, const Cancelled& isCancelled) {
    writeWhole(executor, picture);
    return executor.run({}, isCancelled);
}

std::vector<float> VisionModel::predict(const Input& input, const Cancelled& isCancelled) {
    requireHead();
    auto& classifier = runs().classifier;
    if (!classifier) classifier = makeExecutor({});
    if (!run(*classifier, input, isCancelled)) return {};
    const auto logits = classifier->result(kResult);
    return {logits.begin(), logits.begin() + info_.classes};
}

std::vector<CapturedHook> VisionModel::capture(const Input& input, const std::string& hooks) {
    const std::vector<std::string> names = matchHooks(hooks);
    const std::set<std::string> probes(names.begin(), names.end());
    auto& capturers = runs().capturers;
    if (capturers.size() >= kMostCapturers && !capturers.contains(probes)) capturers.clear();
    GpuExecutor& capturer = madeOnce(capturers, probes, [&] { return makeExecutor(probes); });
    run(capturer, input, {});
    std::vector<CapturedHook> captured;
    for (const std::string& name : names)
        captured.push_back({name, capturer.plan().result(name).type.shape, denseResult(capturer, name)});
    return captured;
}

VisionModel::PatternsAndLogits VisionModel::patternsAndLogits(const Input& picture, std::optional<int> only) {
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
    for (CapturedHook& hook : capture(picture, hooks)) {
        const auto layer = static_cast<size_t>(std::max(0, splitName(hook.name).layer));
        if (hook.name == "logits")
            result.logits = std::move(hook.values);
        else if (is(hook.name, ".hook_pattern"))
            result.patterns[layer].values = std::move(hook.values);
        else
            for (size_t later = layer; later < layouts.size(); ++later)
                result.patterns[later].layout =
                    pooledLayout(result.patterns[layer - 1].layout, {hook.values.begin(), hook.values.end()},
                                 config().patches.tokensOf(static_cast<int64_t>(later)) - config().patches.prefix());
    }
    return result;
}

void VisionModel::requireHead() const {
    if (info_.classes == 0)
        throw Error({.what = "this model has no classifier",
                     .where = info_.name,
                     .hint = "open a model with a classifier; this one only gives features and patterns"});
}

std::vector<float> VisionModel::patchPositions() const {
    if (config().positions == Positions::None) return {};
    if (config().positions == Positions::Sinusoidal)
        return sinusoidalGrid(config().patches.grid(), config().modelWidth);
    const std::vector<float> table = store_->read(vision_names::kPositions);
    const auto patches = static_cast<size_t>(config().patches.grid().area() * config().modelWidth);
    return {table.end() - static_cast<std::ptrdiff_t>(patches), table.end()};
}

std::vector<float> VisionModel::patchFilters() const { return store_->read("embed.W_E"); }

VisionModel& visionModel(RunningModel& model) {
    if (auto* found = dynamic_cast<VisionModel*>(&model)) return *found;
    throw WrongModel({.what = "this needs a model of pictures",
                      .where = model.info().name,
                      .hint = "open a model that reads pictures"});
}

} // namespace attn
