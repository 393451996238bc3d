#include "engine/models/stream_builder.h"

#include "engine/attention/block/block_flow.h"
#include "engine/attention/execution.h"
#include "engine/attention/position/dependency_tree.h"
#include "engine/attention/position/sinusoid.h"
#include "engine/attention/step_memory.h"
#include "engine/attention/terms.h"
#include "engine/models/hook_names.h"
#include "engine/ops/ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

class TokenBuilder : public StreamBuilder {
public:
    TokenBuilder(const ModelSpec& model, const StreamSpec& stream, const ModelBuild& build,
                 std::shared_ptr<Graph> graph)
        : StreamBuilder(model, stream, build, std::move(graph), stream.layers) {}

    ModelGraph build() override {
        const Tensor x = rows();
        const bool isOne = build_.queries == 1;
        if (predictsTokens(model_.readout())) {
            if (hasCache()) result_.nextLogits = unembedded(isOne ? x : lastRow(x)); // [1,C] -> [1,V]
            result_.logits = graph_.probe(unembedded(queryRows_ ? queryRows_ : x), "logits", "TV");
            if (!model_.classReadout().labels.empty()) result_.classes = classified(x);
            if (segmentRows_) result_.segmentLogits = agreement(x);
        } else if (model_.readout() != TextReadout::None) {
            const Tensor logits = classified(x);
            (build_.isTraining ? result_.logits : result_.classes) = logits;
        }
        return finished();
    }

    Tensor readOut(Tensor x) {
        const Tensor rows = blocks_.gather(x);
        return predictsTokens(model_.readout()) ? unembedded(rows) : classified(rows);
    }
    Tensor vocabulary() { return words(table()); }

private:
    KeyPositions keyPositions(int64_t rows) override {
        if (!keyPositions_)
            keyPositions_ =
                graph_.input(config_.inputs + decoder_names::kKeyPositions, {.shape = {rows}, .dtype = DType::I32});
        return {keyPositions_, config_.context};
    }

    Tensor rows() override {
        const AttentionSite cross = crossKeys();
        const int64_t T = build_.queries;
        const std::string& from = config_.inputs;
        const std::optional<StepScalar> live =
            T > 1 && hasCache() && runsAnyLength(model_) && !config_.readsStream()
                ? std::optional(StepScalar::QueryLength)
                : std::nullopt; // steps of a stream that reads another have as many rows as tokens
        const Tensor tokens =
            graph_.input(from + decoder_names::kTokens, {.shape = {T}, .dtype = DType::I32, .liveRows = live});
        const Tensor positions =
            graph_.input(from + decoder_names::kPositions, {.shape = {T}, .dtype = DType::I32, .liveRows = live});
        keyPositions_ = positions;
        const bool looksAhead = config_.isSource() || isEncoder(model_);
        if (looksAhead || model_.hasPrefix) {
            keyPositions_ = graph_.input(from + decoder_names::kKeyPositions, {.shape = {T}, .dtype = DType::I32});
        } else if (hasCache() && build_.sequence == 1) {
            keyPositions_ = keptInPages("paged_positions", build_.cacheCapacity, positions, result_.updates);
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
        if (!config_.isSource() && treeSpec(model_)) {
            const int64_t S = hasCache() ? build_.keys : build_.sequence > 0 ? build_.sequence : T;
            site.treeDepths = graph_.input(decoder_names::kTreeDepths, {.shape = {T}, .dtype = DType::I32});
            site.treeRelations = graph_.input(decoder_names::kTreeRelations, {.shape = {T * S}, .dtype = DType::I32});
        }
        if (model_.hasQueryStream && build_.isTraining) beginQueries(site);
        if (model_.segments.count > 0 && build_.isTraining) segmentRows_ = readAlone(site);
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
        Tensor x = graph_.probe(words(embedding(tokens, table())), config_.named(stream + "hook_embed"), "TC");
        if (config_.tokens.paddingToken) positions = graph_.input(decoder_names::kPositionRows, tokens.type());
        if (config_.positions != Positions::None)
            x = add(
                x, graph_.probe(embedding(positions, positionTable()), config_.named(stream + "hook_pos_embed"), "TC"));
        if (config_.tokens.types > 0) {
            const Tensor types = graph_.input(decoder_names::kTokenTypes, tokens.type());
            const Tensor table = graph_.parameter("token_type_embed.W_token_type", {config_.tokens.types, C});
            x = add(x, graph_.probe(embedding(types, table), stream + "hook_token_type_embed", "TC"));
        }
        return config_.embeddingNorm ? learnedNorm(x, config_.named("embed.ln")) : x;
    }

    /// The stream that reads each segment alone, through the same parameters. @param site with positions  @return [T,C]
    Tensor readAlone(AttentionSite site) {
        const std::string mask = fmt::format("own_segment({}, {})", model_.segments.count, model_.segments.length);
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
                      sequences = build_.queries / rows, count = model_.segments.count;
        const auto globals = [&](Tensor from) {
            return reshape(slice(reshape(from, {sequences, rows, C}), 1, 0, count), {sequences * count, C});
        };
        return batchedMatmul(globals(blocks_.finalNorm(x)), globals(segmentRows_),
                             {.transposeB = true, .scale = 1 / std::sqrt(static_cast<double>(C))});
    }

    /// Begins the stream that sees the tokens before its own in the order of prediction. Its rows are one learned row.
    void beginQueries(AttentionSite& site) {
        queryRows_ = blocks_.dropped(broadcast(maskRow(graph_, model_), {build_.queries, config_.modelWidth}));
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
        const bool isOne = readsOneRow(model_.classReadout().kind), isPooled = isOne && isEncoder(model_),
                   isSpan = model_.classReadout().kind == TextReadout::Span;
        x = blocks_.finalNorm(x);
        if (isOne && build_.isTraining)
            x = take(x, graph_.input(decoder_names::kReadoutRows, {.shape = {sequences}, .dtype = DType::I32}));
        if (isPooled)
            x = unary(matmul(x, graph_.parameter("pooler.W", {C, C}), {.bias = graph_.parameter("pooler.b", {C})}),
                      Unary::Tanh);
        const int64_t labels = std::ssize(model_.classReadout().labels);
        MatmulOptions options;
        if (isEncoder(model_) || !isOne) // a decoder's for a whole text has none
            options.bias = graph_.parameter("classifier.b", {labels});
        x = matmul(blocks_.dropped(x), graph_.parameter("classifier.W", {labels, C}), options);
        if (!isSpan || !build_.isTraining) return x;
        const Tensor exists = binary(fill(graph_, {1}, -1), toReal(keyPositions_), Binary::Less); // no padding
        x = select(reshape(exists, {build_.queries, 1}), x, fill(graph_, {1, 1}, kMasked));
        const int64_t rows = build_.queries / sequences;
        return reshape(permute(reshape(x, {sequences, rows, labels}), {0, 2, 1}), {sequences * labels, rows});
    }

    Tensor table() {
        return graph_.parameter(config_.tokens.isOwn ? config_.named("embed.W_E") : "embed.W_E",
                                {config_.tokens.vocabulary, config_.modelWidth});
    }

    /// The rows that are added to the embedding, by position. @return [context, C], or [1 + context, C] with padding
    Tensor positionTable() {
        const int64_t P = config_.context + (config_.tokens.paddingToken ? 1 : 0), C = config_.modelWidth;
        if (config_.positions == Positions::Learned) return graph_.parameter(config_.named("pos_embed.W_pos"), {P, C});
        const FlowConstant table{
            .name = fmt::format("pos_embed.sinusoids#{}x{}", P, C), .shape = {P, C}, .values = [P, C] {
                std::vector<float> values;
                for (int64_t position = 0; position < P; ++position)
                    for (int64_t c = 0; c < C; ++c)
                        values.push_back(static_cast<float>(sinusoidInHalves(position, c, C, 10000)));
                return values;
            }};
        blocks_.partTensors.constants.push_back(table);
        return graph_.parameter(table.name, table.shape);
    }

    /// Rows of the table as inputs of the layers.
    Tensor words(Tensor rows) const {
        if (fixesWords()) return affine(terms::unitRows(rows), std::sqrt(static_cast<double>(config_.modelWidth)), 0);
        return config_.tokens.scale == 1 ? rows : affine(rows, config_.tokens.scale, 0);
    }

    bool fixesWords() const { return blocks_.hooks(0, Slot::Norm).fixesWords; }

    /// @param x [N,C]  @return [N,V]
    Tensor unembedded(Tensor x) {
        const ReadoutSpec& readout = model_.tokenReadout();
        Tensor table = graph_.parameter(readout.tiedEmbedding ? "embed.W_E" : "unembed.W_U",
                                        {config_.tokens.vocabulary, config_.modelWidth});
        if (fixesWords()) table = terms::unitRows(table);
        MatmulOptions out{.scale = readout.scale};
        if (readout.unembedBias) out.bias = graph_.parameter("unembed.b_U", {config_.tokens.vocabulary});
        x = blocks_.finalNorm(x);
        return matmul(readout.kind == TextReadout::MaskedToken && readout.hasMaskedHead ? maskedHead(x) : x, table,
                      out);
    }

    /// What BERT's readout does before the unembedding. @source Devlin et al. 2019, modeling.py of its release
    Tensor maskedHead(Tensor x) {
        const int64_t C = config_.modelWidth;
        const Tensor hidden =
            matmul(x, graph_.parameter("mlm_head.W", {C, C}),
                   {.bias = graph_.parameter("mlm_head.b", {C}),
                    .activation = model_.tokenReadout().headActivation.value_or(config_.feedForward.activation),
                    .keepsArgument = !hasCache()});
        return learnedNorm(hidden, "mlm_head.ln");
    }

    Tensor keyPositions_; ///< I32 [T], or of the cache
    Tensor queryRows_;    ///< [T,C] of the query stream; null: there is none
    Tensor segmentRows_;  ///< [T,C] of the stream that reads each segment alone; null: there is none
};

/// Builds into a graph of the caller.
TokenBuilder builderInto(const ModelSpec& model, const StreamSpec& stream, Graph& graph) {
    static const ModelBuild build;
    return {model, stream, build, std::shared_ptr<Graph>(std::shared_ptr<Graph>(), &graph)};
}

} // namespace

std::unique_ptr<StreamBuilder> tokenStream(const ModelSpec& model, const StreamSpec& stream, const ModelBuild& build,
                                           std::shared_ptr<Graph> graph) {
    return std::make_unique<TokenBuilder>(model, stream, build, std::move(graph));
}

Tensor readOut(const ModelSpec& config, Tensor x) { return builderInto(config, config.stream(), *x.graph).readOut(x); }

Tensor vocabularyEmbedding(const ModelSpec& config, Graph& graph, std::string_view stack) {
    const std::vector<const StreamSpec*> streams = config.streams();
    const auto found = std::ranges::find(streams, stack, &StreamSpec::stack);
    return builderInto(config, found == streams.end() ? config.stream() : **found, graph).vocabulary();
}

} // namespace attn
