#include "engine/inference/storage_choice.h"

#include "engine/inference/graph_sources.h"
#include "engine/inference/language_model.h"
#include "engine/models/model_builder.h"
#include "engine/models/model_source.h"
#include "engine/models/patch_stream.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <utility>

namespace attn {
namespace {

using Clock = std::chrono::steady_clock;

/// The shape of what a run of the graph reads of each parameter.
std::map<std::string, Shape> readShapes(const Graph& graph) {
    std::map<std::string, Shape> result;
    for (uint32_t id = 0; id < graph.size(); ++id) {
        const Node& node = graph.node(id);
        for (const Tensor& input : node.inputs) {
            const Node& from = graph.node(input.node);
            if (from.kind != NodeKind::Parameter) continue;
            const Shape& shape = node.op->name == "embedding" ? node.outputs[0].shape : from.outputs[0].shape;
            Shape& read = result.try_emplace(from.name, shape).first->second;
            if (shape.elements() > read.elements()) read = shape;
        }
    }
    return result;
}

StorageNeeds needsOf(const Graph& graph, Storage storage, bool writes) {
    StorageNeeds needs{.storage = storage, .isAsQ8 = storage != Storage::Q8_0};
    const auto read = writes ? readShapes(graph) : std::map<std::string, Shape>();
    const auto kept = storageRule(graph, storage), asQ8 = storageRule(graph, Storage::Q8_0);
    for (const Node* parameter : storedParameters(graph)) {
        const Shape& shape = parameter->outputs[0].shape;
        const Storage as = kept(parameter->name, shape);
        needs.isAsQ8 = needs.isAsQ8 && as == asQ8(parameter->name, shape);
        needs.parameterBytes += static_cast<int64_t>(storedBytes(shape, as));
        if (const auto found = read.find(parameter->name); found != read.end())
            needs.readBytes += static_cast<int64_t>(storedBytes(found->second, as));
    }
    return needs;
}

StorageChoice choiceOf(const ModelGraph& model, bool writes) {
    StorageChoice choice{.parameterCount = parameterCount(*model.graph)};
    for (const Storage storage : kStorages) choice.needs.push_back(needsOf(*model.graph, storage, writes));
    return choice;
}

ModelGraph stepOf(const ModelSpec& config) {
    return buildModel(config, {.queries = 1, .cacheCapacity = config.context});
}

/// A model of a configuration whose weights are zeros. They are written: the system keeps one page for all memory that
/// nobody has written, and reading that is faster than reading weights.
class HollowSource : public ModelSource {
public:
    explicit HollowSource(ModelSpec config) : config_(std::move(config)) {}

    const ModelSpec& config() const override { return config_; }
    std::string familyTitle() const override { return config_.family; }
    int64_t read(const std::string&, const Shape&, const RowWriter& write) const override {
        write([](int64_t, std::span<float> rows) { std::ranges::fill(rows, 0.0f); });
        return 0;
    }

private:
    ModelSpec config_;
};

/// As much of a model as takes at most `mostBytes`, but at least one layer.
ModelSpec partOf(ModelSpec config, const StorageNeeds& whole, int64_t mostBytes) {
    constexpr int64_t kVocabulary = 16384, kContext = 256;
    if (whole.parameterBytes <= mostBytes) return config;
    config.tokens.vocabulary = std::min(config.tokens.vocabulary, kVocabulary);
    config.context = std::min(config.context, kContext);
    while (config.layers.size() > 1 && needsOf(*stepOf(config).graph, whole.storage, true).parameterBytes > mostBytes) {
        config.layers.pop_back();
        if (!config.crossAttention.empty()) config.crossAttention.pop_back();
    }
    return config;
}

/// The time of a step that writes a token, in seconds: the least of several, for what else the machine does only adds.
double secondsOfStep(const DeviceChoice& device, const ModelSpec& config, Storage storage) {
    constexpr int kSteps = 16;
    constexpr double kLongest = 0.15; // s
    LanguageModel model(std::make_unique<HollowSource>(config), {.device = device, .storage = storage});
    double least = std::numeric_limits<double>::infinity();
    const Clock::time_point begin = Clock::now();
    const int token = 0;
    for (int step = 0; step <= kSteps && step < model.capacity(); ++step) {
        const Clock::time_point start = Clock::now();
        model.feed(std::span(&token, 1));
        const Clock::time_point end = Clock::now();
        if (step > 0) // the first may prepare kernels
            least = std::min(least, std::chrono::duration<double>(end - start).count());
        if (step > 2 && std::chrono::duration<double>(end - begin).count() > kLongest) break;
    }
    return least;
}

} // namespace

StorageChoice storageChoice(const std::string& path) {
    const auto source = openModelSource(path);
    const ModelSpec& config = source->config();
    const bool writes = config.axis == AxisKind::Tokens && writesFromCache(config);
    StorageChoice choice = choiceOf(writes ? stepOf(config) : buildForListing(config),
                                    writes && config.readout() == TextReadout::NextToken);
    choice.path = path;
    choice.name = config.name;
    choice.dtype = source->dtype();
    return choice;
}

WeightSpeed measureWeightSpeed(const DeviceChoice& choice, const StorageChoice& model,
                               const std::function<bool()>& isCancelled) {
    constexpr int64_t kMostBytes = int64_t{128} << 20; // more than most caches hold
    const auto device = Device::shared(choice);
    WeightSpeed speed{.device = device->name(), .freeBytes = device->freeBytes()};
    if (!model.writes()) return speed;
    const auto source = openModelSource(model.path);
    for (size_t i = 0; i < model.needs.size() && !(isCancelled && isCancelled()); ++i) {
        const StorageNeeds& whole = model.needs[i];
        const ModelSpec part = partOf(source->config(), whole, kMostBytes);
        const StorageNeeds needs = needsOf(*stepOf(part).graph, whole.storage, true);
        if (static_cast<uint64_t>(needs.parameterBytes) > speed.freeBytes / 2) continue;
        const double share = static_cast<double>(needs.readBytes) / static_cast<double>(whole.readBytes);
        speed.tokensPerSecond[i] = share / secondsOfStep(choice, part, whole.storage);
    }
    return speed;
}

} // namespace attn
