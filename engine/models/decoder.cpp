#include "engine/models/decoder.h"

#include "engine/attention/block/block_flow.h"
#include "engine/attention/terms.h"
#include "engine/ops/training_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

class DecoderBuilder {
public:
    DecoderBuilder(const DecoderConfig& config, const DecoderBuild& build)
        : config_(config), build_(build), result_{.graph = std::make_shared<Graph>(),
                                                  .nextLogits = {},
                                                  .logits = {},
                                                  .attention = {},
                                                  .updates = {},
                                                  .blocks = {},
                                                  .composed = {}},
          graph_(*result_.graph) {}

    DecoderGraph build() {
        const int64_t T = build_.queries, C = config_.modelWidth;
        const std::optional<StepScalar> live =
            T > 1 && hasCache() ? std::optional(StepScalar::QueryLength) : std::nullopt;
        const Tensor tokens =
            graph_.input(decoder_names::kTokens, {.shape = {T}, .dtype = DType::I32, .liveRows = live});
        const Tensor positions =
            graph_.input(decoder_names::kPositions, {.shape = {T}, .dtype = DType::I32, .liveRows = live});
        Tensor keyPositions = positions;
        if (hasCache()) {
            keyPositions = assign(
                graph_.state(decoder_names::kCachePositions,
                             {.shape = {build_.cacheCapacity}, .dtype = DType::I32, .liveRows = StepScalar::KeyLength}),
                positions, StepScalar::CacheOffset);
            result_.updates.emplace_back(decoder_names::kCachePositions, keyPositions);
        }

        const Tensor table = graph_.parameter("embed.W_E", {config_.vocabulary, C});
        const bool fixesWords = hooksOf(0, Slot::Norm) && hooksOf(0, Slot::Norm)->fixesWords;
        Tensor words = embedding(tokens, table);
        if (fixesWords) words = affine(terms::unitRows(words), std::sqrt(static_cast<double>(C)), 0);
        Tensor x = graph_.probe(words, "hook_embed", "TC");
        if (config_.learnedPositions) {
            const Tensor positionTable = graph_.parameter("pos_embed.W_pos", {config_.context, C});
            x = add(x, graph_.probe(embedding(positions, positionTable), "hook_pos_embed", "TC"));
        }
        x = dropped(x);
        const int64_t streams = hooksOf(0, Slot::Residual) ? hooksOf(0, Slot::Residual)->streams : 1;
        if (streams > 1) x = concatenate(std::vector<Tensor>(static_cast<size_t>(streams), x), -1);
        for (size_t layer = 0; layer < config_.layers.size(); ++layer) {
            const uint32_t first = graph_.size();
            x = block(layer, x, positions, keyPositions);
            result_.blocks.push_back({first, graph_.size()});
        }

        if (streams > 1) x = reshape(reduce(reshape(x, {T, streams, C}), Reduction::Mean, {1}), {T, C});
        Tensor unembedding = config_.tiedEmbedding ? table : graph_.parameter("unembed.W_U", {config_.vocabulary, C});
        if (fixesWords) unembedding = terms::unitRows(unembedding);
        MatmulOptions out;
        if (config_.unembedBias) out.bias = graph_.parameter("unembed.b_U", {config_.vocabulary});
        if (hasCache())
            result_.nextLogits = matmul(finalNorm(T > 1 ? lastRow(x) : x), unembedding, out); // [1,C] -> [1,V]
        result_.logits = graph_.probe(matmul(finalNorm(x), unembedding, out), "logits", "TV");
        return std::move(result_);
    }

private:
    bool hasCache() const { return build_.cacheCapacity > 0; }

    Tensor dropped(Tensor x) { return build_.dropout > 0 ? dropout(x, build_.dropout, sites_++) : x; }

    /// What a part of a layer's block does; null where the model's own is meant.
    const BlockHooks* hooksOf(size_t layer, Slot slot) const {
        const auto& spec = config_.layers[layer].spec;
        const Part* part = spec ? spec->blockPart(slot) : nullptr;
        return part ? part->block : nullptr;
    }
    BlockFlow blockFlow(const std::string& weights) {
        return {.graph = graph_,
                .weights = weights,
                .width = config_.modelWidth,
                .epsilon = config_.normEpsilon,
                .hasBias = config_.feedForward.bias,
                .parameters = result_.composed.parameters};
    }
    Tensor mapped(size_t layer, Slot slot, const std::string& weights, const std::string& name, Tensor x) {
        BlockFlow flow = blockFlow(weights);
        return hooksOf(layer, slot)->map(flow, config_.layers[layer].spec->values(slot), name, x);
    }

    /// @param layer whose part it is, if its spec says one
    Tensor norm(Tensor x, size_t layer, const std::string& weights, const std::string& name) {
        if (hooksOf(layer, Slot::Norm)) return mapped(layer, Slot::Norm, weights, name, x);
        return norm(x, weights.empty() ? name : weights + "." + name);
    }

    Tensor norm(Tensor x, const std::string& name) {
        const int64_t C = config_.modelWidth;
        if (config_.norm == NormKind::None) return x;
        const Tensor w = graph_.parameter(name + ".w", {C});
        if (config_.norm == NormKind::RmsNorm) return rmsNorm(x, w, config_.normEpsilon);
        return layerNorm(x, w, graph_.parameter(name + ".b", {C}), config_.normEpsilon);
    }

    Tensor finalNorm(Tensor x) {
        const size_t last = config_.layers.size() - 1;
        const BlockHooks* residual = config_.layers.empty() ? nullptr : hooksOf(last, Slot::Residual);
        if (!config_.finalNorm || (residual && residual->isPostNorm)) return x;
        if (config_.layers.empty() || !hooksOf(last, Slot::Norm)) return norm(x, "ln_final");
        return mapped(last, Slot::Norm, {}, "ln_final", x);
    }

    Tensor block(size_t layer, Tensor x, Tensor positions, Tensor keyPositions) {
        const LayerAttention& spec = config_.layers[layer];
        const auto index = static_cast<int64_t>(layer);
        const std::string prefix = fmt::format("blocks.{}", layer);
        const bool isShared = hooksOf(layer, Slot::Layers) && hooksOf(layer, Slot::Layers)->sharesWeights;
        const std::string weights = isShared ? "blocks.0" : prefix;
        AttentionSite site{.prefix = prefix + ".attn",
                           .weights = weights + ".attn",
                           .input = x,
                           .residual = x,
                           .queryPosition = positions,
                           .keyPosition = keyPositions,
                           .rotaryTable = {},
                           .cacheCapacity = build_.cacheCapacity,
                           .sequence = build_.sequence,
                           .recordsQueries = build_.recordsQueries};
        if (spec.spec) x = withInputs(spec, site, index, x);
        graph_.probe(x, prefix + ".hook_resid_pre", "TC");
        if (spec.rotary)
            site.rotaryTable =
                graph_.parameter(decoder_names::kRotaryTable,
                                 {config_.context, static_cast<int64_t>(spec.rotary->inverseFrequencies.size()) * 2});
        const auto attend = [&](Tensor input, Tensor residual) {
            site.input = input;
            site.residual = residual;
            const AttentionNodes nodes =
                spec.spec ? composedAttention(spec, site, index, result_.composed) : selfAttention(spec, site);
            result_.attention.push_back(nodes.cached);
            result_.updates.insert(result_.updates.end(), nodes.updates.begin(), nodes.updates.end());
            return nodes;
        };
        const auto normed = [&](const char* name) {
            return [&, name](Tensor in) { return norm(in, layer, weights, name); };
        };
        if (const BlockHooks* residual = hooksOf(layer, Slot::Residual)) {
            BlockFlow flow = blockFlow(weights);
            x = residual->join(flow, "gate1", x, normed("ln1"),
                               [&](Tensor in) { return dropped(attend(in, in).added); });
            if (hasFeedForward(layer)) {
                graph_.probe(x, prefix + ".hook_resid_mid", "TC");
                x = residual->join(flow, "gate2", x, normed("ln2"),
                                   [&](Tensor in) { return dropped(feedForward(layer, prefix, weights, in).added); });
            }
            return graph_.probe(x, prefix + ".hook_resid_post", "TC");
        }

        const AttentionNodes attention = attend(normed("ln1")(x), x);
        Tensor result = build_.dropout > 0 ? add(x, dropped(attention.added)) : attention.output;
        if (hasFeedForward(layer)) {
            if (!config_.parallelResidual) graph_.probe(result, prefix + ".hook_resid_mid", "TC");
            const FeedForwardNodes nodes =
                feedForward(layer, prefix, weights, normed("ln2")(config_.parallelResidual ? x : result), result);
            result = build_.dropout > 0 ? add(result, dropped(nodes.added)) : nodes.output;
        }
        return graph_.probe(result, prefix + ".hook_resid_post", "TC");
    }

    /// What the spec's position adds to every stream of the block's input.
    Tensor withInputs(const LayerAttention& spec, AttentionSite& site, int64_t layer, Tensor x) {
        const int64_t C = config_.modelWidth;
        std::vector<Tensor> streams;
        for (int64_t begin = 0; begin < x.shape().columns(); begin += C) {
            site.input = x.shape().columns() == C ? x : slice(x, -1, begin, C);
            streams.push_back(composedInputs(spec, site, layer, result_.composed));
        }
        return streams.size() == 1 ? streams.front() : concatenate(streams, -1);
    }

    bool hasFeedForward(size_t layer) const {
        return config_.feedForward.width > 0 || hooksOf(layer, Slot::FeedForward) != nullptr;
    }
    struct FeedForwardNodes {
        Tensor added;  ///< [T,C]
        Tensor output; ///< residual + added, where a residual was given
    };

    FeedForwardNodes feedForward(size_t layer, const std::string& prefix, const std::string& weights, Tensor input,
                                 Tensor residual = {}) {
        const std::string probe = prefix + ".hook_mlp_out";
        if (hooksOf(layer, Slot::FeedForward)) {
            const Tensor added = graph_.probe(mapped(layer, Slot::FeedForward, weights, "mlp", input), probe, "TC");
            return {added, residual ? add(residual, added) : Tensor()};
        }
        const FeedForwardSpec& spec = config_.feedForward;
        const int64_t C = config_.modelWidth;
        const auto parameter = [&](const char* name, Shape shape) {
            return graph_.parameter(weights + ".mlp." + name, std::move(shape));
        };
        const auto bias = [&](const char* name, int64_t width) {
            return spec.bias ? std::optional(parameter(name, {width})) : std::nullopt;
        };
        Tensor hidden;
        const Tensor weightIn = parameter("W_in", {spec.width, C});
        if (spec.gated) {
            const Tensor gate =
                matmul(input, parameter("W_gate", {spec.width, C}), {.bias = bias("b_gate", spec.width)});
            hidden = swiglu(gate, matmul(input, weightIn, {.bias = bias("b_in", spec.width)}));
        } else {
            hidden = matmul(input, weightIn,
                            {.bias = bias("b_in", spec.width),
                             .activation = spec.activation,
                             .keepsArgument = !hasCache()}); // without a cache it may be trained
        }
        const Tensor weightOut = parameter("W_out", {C, spec.width});
        FeedForwardNodes nodes{
            .added = graph_.probe(matmul(hidden, weightOut, {.bias = bias("b_out", C)}), probe, "TC"), .output = {}};
        if (residual) nodes.output = matmul(hidden, weightOut, {.bias = bias("b_out", C), .residual = residual});
        return nodes;
    }

    const DecoderConfig& config_;
    const DecoderBuild& build_;
    DecoderGraph result_;
    Graph& graph_;
    uint32_t sites_ = 0; // of dropout
};

} // namespace

DecoderGraph buildDecoder(const DecoderConfig& config, const DecoderBuild& build) {
    return DecoderBuilder(config, build).build();
}

bool isComposed(const DecoderConfig& config) {
    return std::ranges::any_of(config.layers, [](const LayerAttention& layer) { return layer.spec.has_value(); });
}

DecoderGraph buildForListing(const DecoderConfig& config) {
    // Parts may learn a number for every pair of positions of the context.
    return buildDecoder(config, isComposed(config) ? DecoderBuild{.queries = config.context}
                                                   : DecoderBuild{.queries = 1, .cacheCapacity = 1});
}

} // namespace attn
