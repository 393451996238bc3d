#include "engine/models/decoder.h"

#include "engine/attention/block/block_flow.h"
#include "engine/attention/execution.h"
#include "engine/attention/position/dependency_tree.h"
#include "engine/attention/terms.h"
#include "engine/models/hook_names.h"
#include "engine/ops/ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

/// Rotary tables have at least this number of positions, if they can occur, so that runs of other lengths share them.
constexpr int64_t kSharedPositions = 4096;
constexpr const char* kOnly = "blocks"; ///< name of the stack of a model with one

/// The row with which a query stream begins.
Tensor maskRow(Graph& graph, const DecoderConfig& config) {
    return graph.parameter("mask_embed.W_mask", {1, config.modelWidth});
}

class DecoderBuilder {
public:
    DecoderBuilder(const DecoderConfig& config, const DecoderBuild& build, std::shared_ptr<Graph> graph,
                   std::string stack)
        : config_(config), build_(build), stack_(std::move(stack)), result_{.graph = std::move(graph)},
          graph_(*result_.graph), blocks_(graph_, settings()) {
        makeEditable(graph_, build.changed);
    }

    ModelGraph build() {
        const Tensor x = rows(crossKeys());
        const bool isOne = build_.queries == 1;
        if (predictsTokens(config_.readout)) {
            if (hasCache()) result_.nextLogits = unembedded(isOne ? x : lastRow(x)); // [1,C] -> [1,V]
            result_.logits = graph_.probe(unembedded(queryRows_ ? queryRows_ : x), "logits", "TV");
            if (!config_.labels.empty()) result_.classes = classified(x);
            if (segmentRows_) result_.segmentLogits = agreement(x);
        } else if (config_.readout != TextReadout::None) {
            const Tensor logits = classified(x);
            (build_.isTraining ? result_.logits : result_.classes) = logits;
        }
        result_.updates.insert(result_.updates.end(), blocks_.updates.begin(), blocks_.updates.end());
        result_.blocks = std::move(blocks_.blocks);
        result_.partTensors = std::move(blocks_.partTensors);
        return std::move(result_);
    }

    /// The encoder, and the keys of every cross-attention, kept for steps of the decoder.
    ModelGraph buildSource(int64_t capacity) {
        AttentionSite cross = crossKeys();
        cross.cacheCapacity = capacity;
        for (size_t layer = 0; layer < config_.layers.size(); ++layer) {
            cross.prefix = blocks_.nameOf(layer) + ".cross_attn";
            std::ranges::move(holdKeys(config_.crossAttention[layer], cross), std::back_inserter(result_.updates));
        }
        result_.partTensors = std::move(blocks_.partTensors);
        return std::move(result_);
    }

    Tensor readOut(Tensor x) {
        const Tensor rows = blocks_.gather(x);
        return predictsTokens(config_.readout) ? unembedded(rows) : classified(rows);
    }
    Tensor vocabulary() { return words(table()); }

private:
    /// The keys of cross-attention: rows of the encoder, or those that a run of it keeps.
    AttentionSite crossKeys() {
        if (!config_.hasEncoder()) return {};
        const DecoderConfig& source = config_.encoder.front();
        if (hasCache())
            return {.keyPosition = graph_.input(std::string(decoder_names::kSource) + decoder_names::kKeyPositions,
                                                {.shape = {build_.source}, .dtype = DType::I32}),
                    .cacheCapacity = build_.sourceCapacity,
                    .heldKeys = build_.source,
                    .reach = source.context};
        const DecoderBuild build{.queries = build_.source,
                                 .isFormed = build_.isFormed,
                                 .sequence = build_.source * build_.sequence / build_.queries,
                                 .dropout = build_.dropout};
        DecoderBuilder encoder(source, build, result_.graph, "encoder");
        const Tensor rows = encoder.blocks_.finalNorm(encoder.rows());
        blocks_.dropouts = encoder.blocks_.dropouts;
        blocks_.blocks = std::move(encoder.blocks_.blocks);
        blocks_.partTensors = std::move(encoder.blocks_.partTensors);
        return {.keyInput = rows, .keyPosition = encoder.keyPositions_, .reach = source.context};
    }

    /// The rows of the stream after its last layer. @param cross see BlockBuilder::block()  @return [T,C]
    Tensor rows(const AttentionSite& cross = {}) {
        const int64_t T = build_.queries;
        const std::string from = isSource() ? decoder_names::kSource : "";
        const std::optional<StepScalar> live =
            T > 1 && hasCache() && runsAnyLength(config_) && !config_.hasEncoder()
                ? std::optional(StepScalar::QueryLength)
                : std::nullopt; // steps of a decoder with an encoder have as many rows as tokens
        const Tensor tokens =
            graph_.input(from + decoder_names::kTokens, {.shape = {T}, .dtype = DType::I32, .liveRows = live});
        const Tensor positions =
            graph_.input(from + decoder_names::kPositions, {.shape = {T}, .dtype = DType::I32, .liveRows = live});
        keyPositions_ = positions;
        const bool looksAhead = isSource() || isEncoder(config_);
        if (looksAhead || config_.hasPrefix) {
            keyPositions_ = graph_.input(from + decoder_names::kKeyPositions, {.shape = {T}, .dtype = DType::I32});
        } else if (hasCache()) {
            keyPositions_ = assign(
                graph_.state(decoder_names::kCachePositions,
                             {.shape = {build_.cacheCapacity}, .dtype = DType::I32, .liveRows = StepScalar::KeyLength}),
                positions, StepScalar::CacheOffset);
            result_.updates.emplace_back(decoder_names::kCachePositions, keyPositions_);
        }

        Tensor x = blocks_.spread(blocks_.dropped(embedded(tokens, positions)));
        AttentionSite site{.queryPosition = positions,
                           .keyPosition = keyPositions_,
                           .cacheCapacity = build_.cacheCapacity,
                           .keys = build_.keys,
                           .sequence = build_.sequence,
                           .reach = looksAhead ? config_.context : 0,
                           .recordsQueries = build_.recordsQueries,
                           .isFormed = build_.isFormed};
        if (!isSource() && treeSpec(config_)) {
            const int64_t S = hasCache() ? build_.keys : build_.sequence > 0 ? build_.sequence : T;
            site.treeDepths = graph_.input(decoder_names::kTreeDepths, {.shape = {T}, .dtype = DType::I32});
            site.treeRelations = graph_.input(decoder_names::kTreeRelations, {.shape = {T * S}, .dtype = DType::I32});
        }
        if (config_.hasQueryStream && build_.isTraining) beginQueries(site);
        if (config_.segments.count > 0 && build_.isTraining) segmentRows_ = readAlone(site);
        for (size_t layer = 0; layer < config_.layers.size(); ++layer) {
            const Tensor content = x;
            x = blocks_.block(layer, x, site, cross);
            if (queryRows_) queryRows_ = ofQueries(layer, site, content);
        }
        return blocks_.gather(x);
    }

    /// The rows of the embedding. @param tokens I32 [T]  @param stream prefix of the hooks of a second stream
    /// @return [T,C]
    Tensor embedded(Tensor tokens, Tensor positions, const std::string& stream = {}) {
        const int64_t C = config_.modelWidth;
        Tensor x = graph_.probe(words(embedding(tokens, table())), inStack(stream + "hook_embed"), "TC");
        if (config_.paddingToken) positions = graph_.input(decoder_names::kPositionRows, tokens.type());
        if (config_.positions != TextPositions::None)
            x = add(x, graph_.probe(embedding(positions, positionTable()), inStack(stream + "hook_pos_embed"), "TC"));
        if (config_.tokenTypes > 0) {
            const Tensor types = graph_.input(decoder_names::kTokenTypes, tokens.type());
            const Tensor table = graph_.parameter("token_type_embed.W_token_type", {config_.tokenTypes, C});
            x = add(x, graph_.probe(embedding(types, table), stream + "hook_token_type_embed", "TC"));
        }
        return config_.embeddingNorm ? learnedNorm(x, inStack("embed.ln")) : x;
    }

    /// The stream that reads each segment alone, through the same parameters. @param site with positions  @return [T,C]
    Tensor readAlone(AttentionSite site) {
        const std::string mask = fmt::format("own_segment({}, {})", config_.segments.count, config_.segments.length);
        std::vector<LayerAttention> layers = config_.layers;
        for (LayerAttention& layer : layers) layer.spec.mask = layer.spec.mask & MaskExpression::parse(mask);
        BlockSettings alone = settings();
        alone.layers = layers;
        BlockBuilder blocks(graph_, alone);
        blocks.dropouts = blocks_.dropouts;
        const Tensor tokens =
            graph_.input(decoder_names::kWholeTokens, {.shape = {build_.queries}, .dtype = DType::I32});
        Tensor x = embedded(tokens, site.queryPosition, std::string(decoder_names::kSegmentStream) + ".");
        x = blocks.spread(blocks.dropped(x));
        for (size_t layer = 0; layer < layers.size(); ++layer) {
            site.prefix = blockName(static_cast<int64_t>(layer), decoder_names::kSegmentStream);
            x = blocks.block(layer, x, site);
        }
        blocks_.dropouts = blocks.dropouts;
        std::ranges::move(blocks.partTensors.constants, std::back_inserter(blocks_.partTensors.constants));
        return blocks.finalNorm(blocks.gather(x));
    }

    /// q.k / sqrt(C) of the global tokens' rows and of the segments' summaries. @param x [T,C]
    /// @return [segments, segments], those of all sequences
    Tensor agreement(Tensor x) {
        const int64_t C = config_.modelWidth, rows = build_.sequence > 0 ? build_.sequence : build_.queries,
                      sequences = build_.queries / rows, count = config_.segments.count;
        const auto globals = [&](Tensor from) {
            return reshape(slice(reshape(from, {sequences, rows, C}), 1, 0, count), {sequences * count, C});
        };
        return batchedMatmul(globals(blocks_.finalNorm(x)), globals(segmentRows_),
                             {.transposeB = true, .scale = 1 / std::sqrt(static_cast<double>(C))});
    }

    /// Begins the stream that sees the tokens before its own in the order of prediction. Its rows are one learned row.
    void beginQueries(AttentionSite& site) {
        queryRows_ = blocks_.dropped(broadcast(maskRow(graph_, config_), {build_.queries, config_.modelWidth}));
        site.queryRank = site.keyRank =
            toReal(graph_.input(decoder_names::kRanks, {.shape = {build_.queries}, .dtype = DType::I32}));
    }

    /// A layer of that stream: the parameters are those of the content's layer, whose input gives keys and values.
    Tensor ofQueries(size_t layer, AttentionSite site, Tensor content) {
        site.prefix = blockName(static_cast<int64_t>(layer), decoder_names::kQueryStream);
        site.keyInput = content;
        site.queryRank = affine(site.queryRank, 1, -1);
        return blocks_.block(layer, queryRows_, site);
    }

    /// The readout of classes. @param x [T,C]
    /// @return [sequences, labels] for a class of a text, [T, labels] for classes of tokens, [2 sequences, rows of a
    /// sequence] for a span: of each sequence the logits of its first token, then those of its last
    /// @source Devlin et al. 2019, arXiv:1810.04805, sections 4.1 to 4.3; of a decoder, as Hugging Face's files have it
    Tensor classified(Tensor x) {
        const int64_t C = config_.modelWidth, sequences = build_.sequence > 0 ? build_.queries / build_.sequence : 1;
        const bool isOne = readsOneRow(config_.classReadout()), isPooled = isOne && isEncoder(config_),
                   isSpan = config_.readout == TextReadout::Span;
        x = blocks_.finalNorm(x);
        if (isOne && build_.isTraining)
            x = take(x, graph_.input(decoder_names::kReadoutRows, {.shape = {sequences}, .dtype = DType::I32}));
        if (isPooled)
            x = unary(matmul(x, graph_.parameter("pooler.W", {C, C}), {.bias = graph_.parameter("pooler.b", {C})}),
                      Unary::Tanh);
        const int64_t labels = std::ssize(config_.labels);
        MatmulOptions options;
        if (isEncoder(config_)) options.bias = graph_.parameter("classifier.b", {labels});
        x = matmul(blocks_.dropped(x), graph_.parameter("classifier.W", {labels, C}), options);
        if (!isSpan || !build_.isTraining) return x;
        const Tensor exists = binary(fill(graph_, {1}, -1), toReal(keyPositions_), Binary::Less); // no padding
        x = select(reshape(exists, {build_.queries, 1}), x, fill(graph_, {1, 1}, kMasked));
        const int64_t rows = build_.queries / sequences;
        return reshape(permute(reshape(x, {sequences, rows, labels}), {0, 2, 1}), {sequences * labels, rows});
    }

    bool isSource() const { return stack_ == "encoder"; }
    std::string inStack(std::string name) const { return stack_ == kOnly ? name : stack_ + "." + name; }

    Tensor table() {
        return graph_.parameter(config_.hasOwnEmbedding ? inStack("embed.W_E") : "embed.W_E",
                                {config_.vocabulary, config_.modelWidth});
    }

    /// The rows that are added to the embedding, by position. @return [context, C], or [1 + context, C] with padding
    Tensor positionTable() {
        const int64_t P = config_.context + (config_.paddingToken ? 1 : 0), C = config_.modelWidth;
        if (config_.positions == TextPositions::Learned) return graph_.parameter(inStack("pos_embed.W_pos"), {P, C});
        const FlowConstant table{
            .name = fmt::format("pos_embed.sinusoids#{}x{}", P, C), .shape = {P, C}, .values = [P, C] {
                std::vector<float> values;
                for (int64_t position = 0; position < P; ++position)
                    for (int64_t c = 0; c < C; ++c) {
                        const int64_t half = (C + 1) / 2, pair = c % half;
                        const double angle =
                            static_cast<double>(position) *
                            std::pow(10000.0, -2.0 * static_cast<double>(pair) / static_cast<double>(C));
                        values.push_back(static_cast<float>(c < half ? std::sin(angle) : std::cos(angle)));
                    }
                return values;
            }};
        blocks_.partTensors.constants.push_back(table);
        return graph_.parameter(table.name, table.shape);
    }

    /// Rows of the table as inputs of the layers.
    Tensor words(Tensor rows) const {
        if (fixesWords()) return affine(terms::unitRows(rows), std::sqrt(static_cast<double>(config_.modelWidth)), 0);
        return config_.embeddingScale == 1 ? rows : affine(rows, config_.embeddingScale, 0);
    }

    bool fixesWords() const { return blocks_.hooks(0, Slot::Norm).fixesWords; }

    /// @param x [N,C]  @return [N,V]
    Tensor unembedded(Tensor x) {
        Tensor table = graph_.parameter(config_.tiedEmbedding ? "embed.W_E" : "unembed.W_U",
                                        {config_.vocabulary, config_.modelWidth});
        if (fixesWords()) table = terms::unitRows(table);
        MatmulOptions out{.scale = config_.readoutScale};
        if (config_.unembedBias) out.bias = graph_.parameter("unembed.b_U", {config_.vocabulary});
        x = blocks_.finalNorm(x);
        return matmul(config_.readout == TextReadout::MaskedToken && config_.hasMaskedHead ? maskedHead(x) : x, table,
                      out);
    }

    /// What BERT's readout does before the unembedding. @source Devlin et al. 2019, modeling.py of its release
    Tensor maskedHead(Tensor x) {
        const int64_t C = config_.modelWidth;
        const Tensor hidden = matmul(x, graph_.parameter("mlm_head.W", {C, C}),
                                     {.bias = graph_.parameter("mlm_head.b", {C}),
                                      .activation = config_.headActivation.value_or(config_.feedForward.activation),
                                      .keepsArgument = !hasCache()});
        return learnedNorm(hidden, "mlm_head.ln");
    }

    Tensor learnedNorm(Tensor x, const std::string& name) {
        const int64_t C = config_.modelWidth;
        return layerNorm(x, graph_.parameter(name + ".w", {C}), graph_.parameter(name + ".b", {C}),
                         config_.normEpsilon);
    }

    bool hasCache() const { return build_.cacheCapacity > 0; }

    BlockSettings settings() const {
        return {.modelWidth = config_.modelWidth,
                .positions =
                    std::min(config_.context, std::max({build_.cacheCapacity, build_.queries, kSharedPositions})),
                .stack = stack_,
                .cross = config_.crossAttention,
                .sharesPositions = config_.sharesPositions,
                .norm = config_.norm,
                .residual = config_.residual,
                .normEpsilon = config_.normEpsilon,
                .finalNorm = config_.finalNorm,
                .feedForward = config_.feedForward,
                .layers = config_.layers,
                .dropout = build_.dropout,
                .needsGradients = !hasCache()};
    }

    const DecoderConfig& config_;
    const DecoderBuild& build_;
    const std::string stack_; ///< "encoder" or "decoder" of a model with both, else kOnly
    ModelGraph result_;
    Graph& graph_;
    BlockBuilder blocks_;
    Tensor keyPositions_; ///< I32 [T], or of the cache
    Tensor queryRows_;    ///< [T,C] of the query stream; null: there is none
    Tensor segmentRows_;  ///< [T,C] of the stream that reads each segment alone; null: there is none
};

const char* stackOf(const DecoderConfig& config) { return config.hasEncoder() ? "decoder" : kOnly; }

} // namespace

void makeEditable(Graph& graph, const std::set<std::string>& hooks) {
    if (hooks.empty()) return;
    graph.edit(hooks, [](Tensor x, const std::string& hook) {
        return add(multiply(x, x.graph->input(decoder_names::kept(hook), x.type())),
                   x.graph->input(decoder_names::added(hook), x.type()));
    });
}

ModelGraph buildDecoder(const DecoderConfig& config, const DecoderBuild& build) {
    return DecoderBuilder(config, build, std::make_shared<Graph>(), stackOf(config)).build();
}

ModelGraph buildSource(const DecoderConfig& config, const DecoderBuild& build, int64_t capacity) {
    return DecoderBuilder(config, build, std::make_shared<Graph>(), stackOf(config)).buildSource(capacity);
}

namespace {

/// Builds into a graph of the caller.
DecoderBuilder builderInto(const DecoderConfig& config, Graph& graph, const char* stack) {
    static const DecoderBuild build;
    return {config, build, std::shared_ptr<Graph>(std::shared_ptr<Graph>(), &graph), stack};
}

} // namespace

Tensor readOut(const DecoderConfig& config, Tensor x) {
    return builderInto(config, *x.graph, stackOf(config)).readOut(x);
}

Tensor vocabularyEmbedding(const DecoderConfig& config, Graph& graph, std::string_view stack) {
    const bool isOfSource = config.hasEncoder() && stack == "encoder";
    return builderInto(isOfSource ? config.encoder.front() : config, graph, isOfSource ? "encoder" : stackOf(config))
        .vocabulary();
}

namespace {

/// The rule of the fused kernel for a layer that has nothing else; nothing for others.
std::optional<AttentionRule> bareRule(const DecoderConfig& config, size_t layer) {
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

bool runsAnyLength(const DecoderConfig& config) {
    if (config.hasEncoder()) return true;
    for (size_t layer = 0; layer < config.layers.size(); ++layer)
        if (!bareRule(config, layer) && !seesAllByDistance(config.layers[layer].spec)) return false;
    return true;
}

bool isEncoder(const DecoderConfig& config) {
    if (config.hasEncoder()) return false;
    for (size_t layer = 0; layer < config.layers.size(); ++layer)
        if (looksAhead(config.layers[layer].spec, config.context, static_cast<int>(layer))) return true;
    return false;
}

const AttentionSpec* treeSpec(const DecoderConfig& config) {
    const AttentionSpec* found = nullptr;
    for (const LayerAttention& layer : config.layers) {
        if (!layer.spec.part(Slot::Position).position.tree) continue;
        if (found && treeOfText(*found, {}) != treeOfText(layer.spec, {})) return nullptr;
        found = found ? found : &layer.spec;
    }
    return config.hasEncoder() ? nullptr : found;
}

bool canHavePrefix(const DecoderConfig& config) {
    for (size_t layer = 0; layer < config.layers.size(); ++layer)
        if (const auto rule = bareRule(config, layer); !rule || !rule->causal || rule->window != 0) return false;
    return !config.hasEncoder();
}

std::vector<int32_t> positionRows(const DecoderConfig& config, std::span<const int> tokens) {
    std::vector<int32_t> rows;
    int32_t count = 0;
    for (const int token : tokens) rows.push_back(token == config.paddingToken ? 0 : ++count);
    return rows;
}

bool runsWhole(const DecoderConfig& config) {
    return isEncoder(config) || config.hasPrefix || !predictsTokens(config.readout);
}

bool writesFromCache(const DecoderConfig& config) {
    return runsAnyLength(config) && !runsWhole(config) && !config.hasEncoder();
}

std::string noCacheReason(const DecoderConfig& config, int64_t context) {
    if (isEncoder(config)) return "in an encoder, every token changes those before it";
    if (config.hasPrefix) return "the tokens of a prompt see one another in both directions";
    if (!predictsTokens(config.readout)) return "the model predicts no tokens";
    for (size_t layer = 0; layer < config.layers.size(); ++layer)
        if (const auto how = stepExecution(config.layers[layer].spec, context, config.layers[layer].headWidth,
                                           static_cast<int>(layer));
            how.kind == StepKind::Whole)
            return how.reason;
    return {};
}

const LayerAttention& siteAttention(const DecoderConfig& config, int site) {
    auto at = static_cast<size_t>(site);
    if (!config.hasEncoder()) return config.layers.at(at);
    const std::vector<LayerAttention>& source = config.encoder.front().layers;
    if (at < source.size()) return source[at];
    at -= source.size();
    return (at % 2 == 0 ? config.layers : config.crossAttention).at(at / 2);
}

ModelGraph buildForListing(const DecoderConfig& config) {
    if (config.hasEncoder()) return buildDecoder(config, {.queries = 1, .source = 1});
    // Some parts learn a number for every pair of positions of the context.
    ModelGraph graph = buildDecoder(config, !runsAnyLength(config) ? DecoderBuild{.queries = config.context}
                                            : runsWhole(config)    ? DecoderBuild{.queries = 1}
                                                                   : DecoderBuild{.queries = 1, .cacheCapacity = 1});
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
