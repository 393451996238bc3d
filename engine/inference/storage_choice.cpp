#include "engine/inference/storage_choice.h"

#include "engine/inference/graph_sources.h"
#include "engine/models/decoder.h"
#include "engine/models/model_source.h"
#include "engine/models/vision_encoder.h"
#include "engine/models/vision_source.h"
#include "engine/ops/ops.h"
#include "engine/runtime/gpu_executor.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>

namespace attn {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// How many numbers of each parameter a run of the graph reads.
std::map<std::string, int64_t> readNumbers(const Graph& graph) {
    std::map<std::string, int64_t> result;
    for (uint32_t id = 0; id < graph.size(); ++id) {
        const Node& node = graph.node(id);
        for (const Tensor& input : node.inputs) {
            const Node& from = graph.node(input.node);
            if (from.kind != NodeKind::Parameter) continue;
            const Shape& shape = from.outputs[0].shape;
            const bool readsRows = node.op->name == "embedding";
            int64_t& numbers = result[from.name];
            numbers = std::max(numbers, readsRows ? node.outputs[0].shape.elements() : shape.elements());
        }
    }
    return result;
}

StorageChoice choiceOf(const ModelGraph& model, bool writes) {
    StorageChoice choice{.parameterCount = parameterCount(*model.graph)};
    const std::map<std::string, int64_t> read = writes ? readNumbers(*model.graph) : std::map<std::string, int64_t>();
    for (const Storage storage : kStorages) {
        StorageNeeds& needs = choice.needs.emplace_back(StorageNeeds{.storage = storage});
        const auto kept = storageRule(*model.graph, storage);
        for (const Node* parameter : storedParameters(*model.graph)) {
            const Shape& shape = parameter->outputs[0].shape;
            const Storage as = kept(parameter->name, shape);
            needs.parameterBytes += static_cast<int64_t>(storedBytes(shape, as));
            if (const auto found = read.find(parameter->name); found != read.end())
                needs.readNumbers[static_cast<size_t>(as)] += found->second;
        }
    }
    if (writes) {
        std::map<std::string, Tensor> outputs(model.updates.begin(), model.updates.end());
        outputs["logits"] = model.nextLogits;
        choice.operations = static_cast<int>(compile(model.graph, outputs)->ops.size());
    }
    return choice;
}

/// A graph with its parameters, compiled and filled with zeros.
class TimedGraph {
public:
    TimedGraph(Device& device, TensorStore& store, const std::shared_ptr<Graph>& graph, Tensor result)
        : executor_(device, store, compile(graph, {{"result", result}})) {
        executor_.run({}); // the first run may prepare a kernel
    }
    void time() {
        const auto start = Clock::now();
        executor_.run({});
        least_ = std::min(least_, secondsSince(start));
    }
    double least() const { return least_; } ///< of all times: what else the machine does only adds to them

private:
    GpuExecutor executor_;
    double least_ = std::numeric_limits<double>::infinity();
};

} // namespace

StorageChoice storageChoice(const std::string& path) {
    if (isVisionModel(path)) {
        const auto source = openVisionSource(path);
        StorageChoice choice = choiceOf(buildVisionEncoder(source->config()), false);
        choice.name = source->config().name;
        choice.dtype = source->dtype();
        return choice;
    }
    const auto source = openModelSource(path);
    const DecoderConfig& config = source->config();
    const bool writes = writesFromCache(config);
    StorageChoice choice = choiceOf(writes ? buildDecoder(config, {.queries = 1, .cacheCapacity = config.context})
                                           : buildForListing(config),
                                    writes && config.readout == TextReadout::NextToken);
    choice.name = config.name;
    choice.dtype = source->dtype();
    return choice;
}

double WeightSpeed::tokensPerSecond(const StorageChoice& model, const StorageNeeds& needs) const {
    if (model.operations == 0) return 0;
    double seconds = secondsPerStep + model.operations * secondsPerOperation;
    for (size_t i = 0; i < secondsPerNumber.size(); ++i)
        seconds += static_cast<double>(needs.readNumbers[i]) * secondsPerNumber[i];
    return 1 / seconds;
}

WeightSpeed measureWeightSpeed(Device& device) {
    // All six matrices together, 43 MB, are larger than most caches, and each is read again only after all others.
    constexpr int64_t kRows = 2048, kColumns = 2048, kShortWidth = 768;
    constexpr int kRounds = 5, kShortOperations = 64;
    TensorStore store(device);
    std::vector<std::unique_ptr<TimedGraph>> products;
    for (const Storage storage : kStorages) {
        const auto graph = std::make_shared<Graph>();
        const std::string name(storageName(storage));
        const Tensor weights = graph->parameter(name, {kRows, kColumns});
        store.reserve({{name, {kRows, kColumns}}}, [&](const std::string&, const Shape&) { return storage; });
        products.push_back(std::make_unique<TimedGraph>(device, store, graph,
                                                        matmul(graph->input("x", {.shape = {1, kColumns}}), weights)));
    }
    const auto chain = [&](int operations) {
        const auto graph = std::make_shared<Graph>();
        const Tensor x = graph->input("x", {.shape = {1, kShortWidth}}), y = graph->input("y", {.shape = x.shape()});
        Tensor result = x;
        for (int i = 0; i < operations; ++i) result = i % 2 == 0 ? multiply(result, y) : add(result, y);
        return std::make_unique<TimedGraph>(device, store, graph, result);
    };
    const auto one = chain(1), many = chain(1 + kShortOperations);
    for (int round = 0; round < kRounds; ++round) {
        for (const auto& product : products) product->time();
        one->time();
        many->time();
    }
    WeightSpeed speed{.device = device.name(), .freeBytes = device.freeBytes()};
    speed.secondsPerStep = one->least();
    speed.secondsPerOperation = std::max(many->least() - one->least(), 0.0) / kShortOperations;
    for (size_t i = 0; i < products.size(); ++i)
        speed.secondsPerNumber[i] = std::max(products[i]->least() - one->least(), 0.0) / (kRows * kColumns);
    return speed;
}

} // namespace attn
