#include "engine/models/decoder.h"

#include "engine/ops/training_ops.h"

#include <fmt/format.h>

#include <algorithm>

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
        Tensor x = graph_.probe(embedding(tokens, table), "hook_embed", "TC");
        if (config_.learnedPositions) {
            const Tensor positionTable = graph_.parameter("pos_embed.W_pos", {config_.context, C});
            x = add(x, graph_.probe(embedding(positions, positionTable), "hook_pos_embed", "TC"));
        }
        x = dropped(x);
        for (size_t layer = 0; layer < config_.layers.size(); ++layer) {
            const uint32_t first = graph_.size();
            x = block(layer, x, positions, keyPositions);
            result_.blocks.push_back({first, graph_.size()});
        }

        const Tensor unembedding =
            config_.tiedEmbedding ? table : graph_.parameter("unembed.W_U", {config_.vocabulary, C});
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

    Tensor norm(Tensor x, const std::string& name) {
        const int64_t C = config_.modelWidth;
        if (config_.norm == NormKind::None) return x;
        const Tensor w = graph_.parameter(name + ".w", {C});
        if (config_.norm == NormKind::RmsNorm) return rmsNorm(x, w, config_.normEpsilon);
        return layerNorm(x, w, graph_.parameter(name + ".b", {C}), config_.normEpsilon);
    }

    Tensor finalNorm(Tensor x) { return config_.finalNorm ? norm(x, "ln_final") : x; }

    Tensor block(size_t layer, Tensor x, Tensor positions, Tensor keyPositions) {
        const LayerAttention& spec = config_.layers[layer];
        const std::string prefix = fmt::format("blocks.{}", layer);
        if (spec.spec)
            x = composedInputs(spec, prefix + ".attn", x, build_.sequence, static_cast<int64_t>(layer),
                               result_.composed);
        graph_.probe(x, prefix + ".hook_resid_pre", "TC");

        Tensor rotaryTable;
        if (spec.rotary)
            rotaryTable =
                graph_.parameter(decoder_names::kRotaryTable,
                                 {config_.context, static_cast<int64_t>(spec.rotary->inverseFrequencies.size()) * 2});
        const AttentionSite site{.prefix = prefix + ".attn",
                                 .input = norm(x, prefix + ".ln1"),
                                 .residual = x,
                                 .queryPosition = positions,
                                 .keyPosition = keyPositions,
                                 .rotaryTable = rotaryTable,
                                 .cacheCapacity = build_.cacheCapacity,
                                 .sequence = build_.sequence,
                                 .recordsQueries = build_.recordsQueries};
        const AttentionNodes attention =
            spec.spec ? composedAttention(spec, site, static_cast<int64_t>(layer), result_.composed)
                      : selfAttention(spec, site);
        result_.attention.push_back(attention.cached);
        result_.updates.insert(result_.updates.end(), attention.updates.begin(), attention.updates.end());

        Tensor result = build_.dropout > 0 ? add(x, dropped(attention.added)) : attention.output;
        if (config_.feedForward.width > 0) {
            if (!config_.parallelResidual) graph_.probe(result, prefix + ".hook_resid_mid", "TC");
            const Tensor input = norm(config_.parallelResidual ? x : result, prefix + ".ln2");
            result = feedForward(prefix, input, result);
        }
        return graph_.probe(result, prefix + ".hook_resid_post", "TC");
    }

    Tensor feedForward(const std::string& prefix, Tensor input, Tensor residual) {
        const FeedForwardSpec& spec = config_.feedForward;
        const int64_t C = config_.modelWidth;
        const auto bias = [&](const char* name, int64_t width) {
            return spec.bias ? std::optional(graph_.parameter(prefix + ".mlp." + name, {width})) : std::nullopt;
        };
        Tensor hidden;
        const Tensor weightIn = graph_.parameter(prefix + ".mlp.W_in", {spec.width, C});
        if (spec.gated) {
            const Tensor gate = matmul(input, graph_.parameter(prefix + ".mlp.W_gate", {spec.width, C}),
                                       {.bias = bias("b_gate", spec.width)});
            hidden = swiglu(gate, matmul(input, weightIn, {.bias = bias("b_in", spec.width)}));
        } else {
            hidden = matmul(input, weightIn,
                            {.bias = bias("b_in", spec.width),
                             .activation = spec.activation,
                             .keepsArgument = !hasCache()}); // without a cache it may be trained
        }
        const Tensor weightOut = graph_.parameter(prefix + ".mlp.W_out", {C, spec.width});
        const Tensor added =
            graph_.probe(matmul(hidden, weightOut, {.bias = bias("b_out", C)}), prefix + ".hook_mlp_out", "TC");
        if (build_.dropout > 0) return add(residual, dropped(added));
        return matmul(hidden, weightOut, {.bias = bias("b_out", C), .residual = residual});
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
