#include "engine/models/model_builder.h"

#include "engine/attention/execution.h"
#include "engine/attention/position/dependency_tree.h"
#include "engine/models/stream_builder.h"
#include "engine/ops/ops.h"

#include <algorithm>
#include <iterator>

namespace attn {
namespace {

/// Rotary tables have at least this number of positions, if they can occur, so that runs of other lengths share them.
constexpr int64_t kSharedPositions = 4096;

std::unique_ptr<StreamBuilder> streamOf(const ModelSpec& model, const StreamSpec& stream, const ModelBuild& build,
                                        std::shared_ptr<Graph> graph) {
    return kStreams.at(static_cast<size_t>(stream.axis))(model, stream, build, std::move(graph));
}

} // namespace

StreamBuilder::StreamBuilder(const ModelSpec& model, const StreamSpec& stream, const ModelBuild& build,
                             std::shared_ptr<Graph> graph, std::vector<LayerAttention> layers)
    : model_(model), config_(stream), build_(build), layers_(std::move(layers)), result_{.graph = std::move(graph)},
      graph_(*result_.graph), blocks_(graph_, settings()) {
    makeEditable(graph_, build.changed);
}

BlockSettings StreamBuilder::settings() const {
    return {.modelWidth = config_.modelWidth,
            .positions = std::min(config_.context, std::max({build_.cacheCapacity, build_.queries, kSharedPositions})),
            .stack = config_.stack,
            .cross = config_.crossAttention,
            .sharesPositions = config_.sharesPositions,
            .norm = config_.norm,
            .residual = config_.residual,
            .normEpsilon = config_.normEpsilon,
            .finalNorm = config_.finalNorm,
            .feedForward = config_.feedForward,
            .layers = layers_,
            .dropout = build_.dropout,
            .needsGradients = config_.numbers() ? build_.needsGradients : !hasCache()};
}

Tensor StreamBuilder::learnedNorm(Tensor x, const std::string& name) const {
    const int64_t C = x.shape().columns();
    return layerNorm(x, graph_.parameter(name + ".w", {C}), graph_.parameter(name + ".b", {C}), config_.normEpsilon);
}

ModelGraph StreamBuilder::finished() {
    std::ranges::move(blocks_.updates, std::back_inserter(result_.updates));
    result_.blocks = std::move(blocks_.blocks);
    result_.partTensors = std::move(blocks_.partTensors);
    return std::move(result_);
}

AttentionSite StreamBuilder::crossKeys() {
    if (!config_.readsStream()) return {};
    const StreamSpec& source = *model_.encoder;
    const int64_t sequences = build_.sequence > 0 ? build_.queries / build_.sequence : 1;
    const ModelBuild build{.images = sequences,
                           .queries = build_.source,
                           .isFormed = build_.isFormed,
                           .sequence = build_.sequence > 0 ? build_.source / sequences : 0,
                           .dropout = build_.dropout,
                           .needsGradients = !hasCache()};
    const auto encoder = streamOf(model_, source, build, result_.graph);
    if (hasCache()) {
        const KeyPositions keys = encoder->keyPositions(build_.source);
        return {.keyPosition = keys.positions,
                .cacheCapacity = build_.sourceCapacity,
                .heldKeys = build_.source,
                .reach = keys.reach};
    }
    const Tensor rows = encoder->blocks_.finalNorm(encoder->rows());
    const KeyPositions keys = encoder->keyPositions(rows.shape()[0]);
    blocks_.dropouts = encoder->blocks_.dropouts;
    blocks_.blocks = std::move(encoder->blocks_.blocks);
    blocks_.partTensors = std::move(encoder->blocks_.partTensors);
    return {.keyInput = rows, .keyPosition = keys.positions, .reach = keys.reach};
}

ModelGraph StreamBuilder::hold(int64_t capacity) {
    AttentionSite cross = crossKeys();
    cross.cacheCapacity = capacity;
    for (size_t layer = 0; layer < config_.layers.size(); ++layer) {
        cross.prefix = blocks_.nameOf(layer) + ".cross_attn";
        std::ranges::move(holdKeys(config_.crossAttention[layer], cross), std::back_inserter(result_.updates));
    }
    result_.partTensors = std::move(blocks_.partTensors);
    return std::move(result_);
}

ModelGraph buildModel(const ModelSpec& config, const ModelBuild& build) {
    return streamOf(config, config.stream(), build, std::make_shared<Graph>())->build();
}

ModelGraph buildSource(const ModelSpec& config, const ModelBuild& build, int64_t capacity) {
    return streamOf(config, config.stream(), build, std::make_shared<Graph>())->hold(capacity);
}

void makeEditable(Graph& graph, const std::set<std::string>& hooks) {
    if (hooks.empty()) return;
    graph.edit(hooks, [](Tensor x, const std::string& hook) {
        return add(multiply(x, x.graph->input(decoder_names::kept(hook), x.type())),
                   x.graph->input(decoder_names::added(hook), x.type()));
    });
}

namespace {

/// The rule of the fused kernel for a layer that has nothing else; nothing for others.
std::optional<AttentionRule> bareRule(const ModelSpec& config, size_t layer) {
    const LayerAttention& attention = config.layers[layer];
    if (!isBare(attention.spec)) return {};
    return kernelRule(attention.spec, config.context, attention.headWidth, static_cast<int>(layer));
}

/// Whether every query sees every key, by a softmax whose only other term depends on their distance.
bool seesAllByDistance(const AttentionSpec& spec) {
    const Part& position = spec.part(Slot::Position);
    return isBare(spec) && spec.mask == MaskExpression() && spec.part(Slot::Normaliser).mix.isSoftmax &&
           spec.part(Slot::Score).score.dotScale && !spec.part(Slot::Mixer).mix.replacesAttention &&
           spec.part(Slot::Memory).hooks.empty() && position.position.isRelative && position.actsOnScores &&
           position.position.addedToValues.empty();
}

} // namespace

const ReadoutSpec& ModelSpec::readoutOf(bool isOfTokens) const {
    static const ReadoutSpec kNone{.kind = TextReadout::None};
    const auto found =
        std::ranges::find(readouts, isOfTokens, [](const ReadoutSpec& each) { return predictsTokens(each.kind); });
    return found == readouts.end() ? kNone : *found;
}

bool runsAnyLength(const ModelSpec& config) {
    if (config.readsStream()) return true;
    for (size_t layer = 0; layer < config.layers.size(); ++layer)
        if (!bareRule(config, layer) && !seesAllByDistance(config.layers[layer].spec)) return false;
    return true;
}

bool isEncoder(const ModelSpec& config) {
    if (config.readsStream()) return false;
    for (size_t layer = 0; layer < config.layers.size(); ++layer)
        if (looksAhead(config.layers[layer].spec, config.context, static_cast<int>(layer))) return true;
    return false;
}

size_t readoutRow(const ModelSpec& config, std::span<const int> tokens) {
    if (tokens.empty() || isEncoder(config)) return 0;
    size_t row = tokens.size() - 1;
    while (row > 0 && tokens[row] == config.classPadding) --row;
    return row;
}

const AttentionSpec* treeSpec(const ModelSpec& config) {
    const AttentionSpec* found = nullptr;
    for (const LayerAttention& layer : config.layers) {
        if (!layer.spec.part(Slot::Position).position.tree) continue;
        if (found && treeOfText(*found, {}) != treeOfText(layer.spec, {})) return nullptr;
        found = found ? found : &layer.spec;
    }
    return config.readsStream() ? nullptr : found;
}

bool canHavePrefix(const ModelSpec& config) {
    for (size_t layer = 0; layer < config.layers.size(); ++layer)
        if (const auto rule = bareRule(config, layer); !rule || !rule->causal || rule->window != 0) return false;
    return !config.readsStream();
}

std::vector<int32_t> positionRows(const ModelSpec& config, std::span<const int> tokens) {
    std::vector<int32_t> rows;
    int32_t count = 0;
    for (const int token : tokens) rows.push_back(token == config.tokens.paddingToken ? 0 : ++count);
    return rows;
}

bool runsWhole(const ModelSpec& config) {
    return isEncoder(config) || config.hasPrefix || !predictsTokens(config.readout());
}

bool writesFromCache(const ModelSpec& config) {
    return runsAnyLength(config) && !runsWhole(config) && !config.readsStream();
}

std::string noCacheReason(const ModelSpec& config, int64_t context) {
    if (isEncoder(config)) return "in an encoder, every token changes those before it";
    if (config.hasPrefix) return "the tokens of a prompt see one another in both directions";
    if (!predictsTokens(config.readout())) return "the model predicts no tokens";
    for (size_t layer = 0; layer < config.layers.size(); ++layer)
        if (const auto how = stepExecution(config.layers[layer].spec, context, config.layers[layer].headWidth,
                                           static_cast<int>(layer));
            how.kind == StepKind::Whole)
            return how.reason;
    return {};
}

const LayerAttention& siteAttention(const ModelSpec& config, int site) {
    auto at = static_cast<size_t>(site);
    if (config.encoder) {
        if (at < config.encoder->layers.size()) return config.encoder->layers[at];
        at -= config.encoder->layers.size();
    }
    if (!config.readsStream()) return config.layers.at(at);
    return (at % 2 == 0 ? config.layers : config.crossAttention).at(at / 2);
}

ModelGraph buildForListing(const ModelSpec& config) {
    if (config.numbers()) return buildModel(config); // its rows are given
    if (config.readsStream()) return buildModel(config, {.queries = 1, .source = 1});
    // Some parts learn a number for every pair of positions of the context.
    ModelGraph graph = buildModel(config, !runsAnyLength(config) ? ModelBuild{.queries = config.context}
                                          : runsWhole(config)    ? ModelBuild{.queries = 1}
                                                                 : ModelBuild{.queries = 1, .cacheCapacity = 1});
    if (config.hasQueryStream) maskRow(*graph.graph, config);
    return graph;
}

std::vector<const Node*> storedParameters(const Graph& graph) {
    std::vector<const Node*> nodes;
    for (uint32_t id = 0; id < graph.size(); ++id)
        if (const Node& node = graph.node(id);
            node.kind == NodeKind::Parameter && !decoder_names::isComputed(node.name))
            nodes.push_back(&node);
    return nodes;
}

} // namespace attn
