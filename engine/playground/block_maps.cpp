#include "engine/playground/block_maps.h"

#include "engine/attention/block/block_flow.h"
#include "engine/attention/head_counts.h"
#include "engine/attention/part.h"
#include "engine/attention/terms.h"
#include "engine/core/rng.h"
#include "engine/models/hook_names.h"
#include "engine/models/model_builder.h"
#include "engine/models/tree_inputs.h"
#include "engine/runtime/gpu_executor.h"
#include "engine/training/initial_weights.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {
namespace {

using namespace terms;

constexpr int64_t kLayers = 6, kVocabulary = 64;

ModelSpec configOf(const AttentionSpec& spec, int64_t tokens, int64_t width) {
    const HeadCounts counts = headCounts(spec);
    const int64_t C = counts.heads * width;
    const LayerAttention layer{.spec = spec, .headWidth = width};
    ModelSpec config;
    config.tokens.vocabulary = kVocabulary;
    config.modelWidth = C;
    config.context = tokens;
    config.feedForward = {.width = 4 * C};
    config.layers = std::vector<LayerAttention>(kLayers, layer);
    return config;
}

/// Adds the maps of a block's parts to a decoder's graph.
class Pictures {
public:
    Pictures(const ModelSpec& config, const AttentionSpec& spec, ModelGraph& decoder)
        : config_(config), spec_(spec), decoder_(decoder), graph_(*decoder.graph) {}

    std::map<std::string, Tensor> build() {
        if (spec_.blockPart(Slot::Norm)) norm();
        if (spec_.blockPart(Slot::FeedForward)) hidden();
        if (spec_.blockPart(Slot::Residual)) lengths();
        if (spec_.blockPart(Slot::Layers)) updates();
        return std::move(pictures_);
    }

private:
    Tensor probe(int64_t layer, const char* name) const { return graph_.probes().at(inBlock(layer, name)).tensor; }
    /// The first residual stream.
    Tensor stream() const { return slice(probe(kLayers - 1, "hook_resid_pre"), -1, 0, config_.modelWidth); }
    BlockFlow flow() {
        return {.graph = graph_,
                .weights = blockName(0),
                .width = config_.modelWidth,
                .parameters = decoder_.partTensors.parameters};
    }

    void norm() {
        const int64_t T = config_.context;
        std::vector<float> ramp;
        for (int64_t t = 0; t < T; ++t)
            ramp.push_back(0.1f + static_cast<float>(t) / static_cast<float>(std::max<int64_t>(T - 1, 1)));
        const std::string name = "block_maps.ramp#";
        decoder_.partTensors.constants.push_back({name, {T, 1}, [ramp] { return ramp; }});
        const Tensor rows = times(unitRows(stream()), graph_.parameter(name, {T, 1}));
        pictures_["norm.before"] = affine(rows, std::sqrt(static_cast<double>(config_.modelWidth)), 0.5);
        BlockFlow block = flow();
        pictures_["norm.after"] =
            spec_.blockPart(Slot::Norm)->block->map(block, spec_.values(Slot::Norm), "ln1", pictures_["norm.before"]);
    }
    void hidden() {
        const Tensor rows = affine(unitRows(stream()), std::sqrt(static_cast<double>(config_.modelWidth)), 0);
        const BlockFlow block = flow();
        const FeedForwardSpec network =
            spec_.blockPart(Slot::FeedForward)->block->network(block, spec_.values(Slot::FeedForward));
        pictures_["feed_forward.hidden"] = hiddenLayer(block, network, FeedForwardWeights(block, network, "mlp"), rows);
    }
    void lengths() {
        std::vector<Tensor> rows;
        const auto add = [&](Tensor x) {
            const Tensor mean = reduce(unary(x, Unary::Square), Reduction::Mean, {1});
            rows.push_back(reshape(unary(mean, Unary::SquareRoot), {1, config_.context}));
        };
        const bool isParallel = spec_.blockPart(Slot::Residual)->block->isParallel; // both sublayers read one stream
        add(probe(0, "hook_resid_pre"));
        for (int64_t layer = 0; layer < kLayers; ++layer) {
            if (!isParallel) add(probe(layer, "hook_resid_mid"));
            add(probe(layer, "hook_resid_post"));
        }
        pictures_["residual.lengths"] = concatenate(rows, 0);
    }
    void updates() {
        std::vector<Tensor> rows;
        for (int64_t layer = 0; layer < kLayers; ++layer) {
            const Tensor added = minus(probe(layer, "hook_resid_post"), probe(layer, "hook_resid_pre"));
            rows.push_back(reshape(added, {1, added.shape().elements()}));
        }
        const Tensor all = unitRows(concatenate(rows, 0));
        pictures_["layers.updates"] = product(all, all);
    }

    const ModelSpec& config_;
    const AttentionSpec& spec_;
    ModelGraph& decoder_;
    Graph& graph_;
    std::map<std::string, Tensor> pictures_;
};

/// Writes the constants and the initial parameters that a plan reads.
class Weights {
public:
    Weights(const ModelSpec& config, const ModelGraph& decoder, TensorStore& store, uint64_t seed)
        : config_(config), decoder_(decoder), store_(store), seed_(seed) {}

    void write(const Plan& plan) {
        std::vector<std::pair<std::string, Shape>> room;
        for (const PlannedTensor& tensor : plan.tensors)
            if (tensor.home == Home::Parameter) room.emplace_back(tensor.name, tensor.type.shape);
        store_.reserve(room);
        for (const auto& [name, shape] : room) store_.writeDense(name, numbersOf(name, shape));
    }

private:
    std::vector<float> numbersOf(const std::string& name, const Shape& shape) const {
        const PartTensors& needs = decoder_.partTensors;
        if (const auto found = std::ranges::find(needs.constants, name, &FlowConstant::name);
            found != needs.constants.end())
            return found->values();
        if (const auto found = std::ranges::find(needs.parameters, name, &FlowParameter::name);
            found != needs.parameters.end())
            return initialNumbers(*found, streamSeed(seed_, name));
        // This deviation preserves lengths, so that the sublayers are visible beside the embeddings.
        const double deviation = 1 / std::sqrt(static_cast<double>(shape.columns()));
        return initialWeights(initialisations().front(), static_cast<int64_t>(config_.layers.size()), name, shape,
                              name == "embed.W_E" ? 1 : deviation, seed_);
    }

    const ModelSpec& config_;
    const ModelGraph& decoder_;
    TensorStore& store_;
    uint64_t seed_;
};

PlaygroundMap mapOf(const GpuExecutor& executor, const std::string& name) {
    const Shape& shape = executor.plan().result(name).type.shape;
    PlaygroundMap map{.name = name, .rows = shape.rows(), .columns = shape.columns(), .values = {}};
    const auto padded = executor.result(name);
    for (int64_t row = 0; row < map.rows; ++row) {
        const auto begin = padded.begin() + static_cast<std::ptrdiff_t>(row * shape.rowStride());
        map.values.insert(map.values.end(), begin, begin + static_cast<std::ptrdiff_t>(map.columns));
    }
    return map;
}

} // namespace

std::vector<PlaygroundMap> blockMaps(Device& device, const AttentionSpec& spec, int64_t tokens, int64_t width,
                                     uint64_t seed) {
    if (std::ranges::none_of(kBlockSlots, [&](Slot slot) { return spec.blockPart(slot); })) return {};
    const ModelSpec config = configOf(spec, tokens, width);
    ModelGraph decoder = buildModel(config, {.queries = tokens});
    const auto plan = compile(decoder.graph, Pictures(config, spec, decoder).build());
    TensorStore store(device);
    Weights(config, decoder, store, seed).write(*plan);
    GpuExecutor executor(device, store, plan);
    if (executor.hasInput(decoder_names::kTokens)) {
        const std::span<int32_t> ids = executor.inputIntegers(decoder_names::kTokens);
        for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(uniform(seed, i) * kVocabulary);
    }
    if (executor.hasInput(decoder_names::kPositions)) {
        const std::span<int32_t> positions = executor.inputIntegers(decoder_names::kPositions);
        for (size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<int32_t>(i);
    }
    if (const AttentionSpec* own = treeSpec(config)) writeTrees(executor, 0, std::array{treeOfText(*own, {})});
    for (int64_t layer = 0; layer < kLayers; ++layer)
        if (const std::string gates = inBlock(layer, "attn.gates"); executor.hasInput(gates))
            std::ranges::fill(executor.input(gates), 1.0f);
    executor.run({});
    std::vector<PlaygroundMap> maps;
    for (const char* name : {"norm.before", "norm.after", "feed_forward.hidden", "residual.lengths", "layers.updates"})
        if (executor.plan().results.contains(name)) maps.push_back(mapOf(executor, name));
    return maps;
}

} // namespace attn
