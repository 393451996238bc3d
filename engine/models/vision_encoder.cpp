#include "engine/models/vision_encoder.h"

#include "engine/core/error.h"
#include "engine/ops/tensor_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {
namespace {

void checkDescription(const VisionConfig& config) {
    const auto refuse = [&](const std::string& what, const std::string& hint) {
        throw Error({.what = what, .where = config.name, .hint = hint});
    };
    const auto [height, width] = config.image;
    if (height < 1 || width < 1 || height % config.patch != 0 || width % config.patch != 0)
        refuse(fmt::format("a picture of {} x {} pixels cannot be cut into patches of {} x {}", width, height,
                           config.patch, config.patch),
               fmt::format("choose sides that are multiples of {}", config.patch));
    if (config.pooling != VisionPooling::Mean && !config.clsToken)
        refuse("the head reads a CLS token, which the model has not", "pool by the mean of the patches");
    if (config.positions == VisionPositions::Sinusoidal && config.modelWidth % 4 != 0)
        refuse(fmt::format("sinusoidal positions in two dimensions need a width that is a multiple of 4, not {}",
                           config.modelWidth),
               "choose another width or learned positions");
}

class VisionBuilder {
public:
    VisionBuilder(const VisionConfig& config, const VisionBuild& build)
        : config_(config), build_(build), tokens_(paddedTokens(config, build)),
          layers_(layersOf(config, build)), result_{.graph = std::make_shared<Graph>(),
                                                    .logits = {},
                                                    .pooled = {},
                                                    .attention = {},
                                                    .blocks = {},
                                                    .composed = {}},
          graph_(*result_.graph), blocks_(graph_, settings()) {}

    VisionGraph build() {
        const int64_t rows = build_.images * tokens_;
        Tensor x = graph_.probe(embedded(), "hook_embed", "TC");
        if (config_.positions != VisionPositions::None) {
            const Tensor positions = positionRows();
            graph_.probe(affine(positions, 1, 0), "hook_pos_embed", "TC"); // a parameter by itself is no result
            x = perRow(binary(perImage(x), positions, Binary::Add));       // [B,T,C] + [T,C]
        }
        x = blocks_.spread(blocks_.dropped(x));
        // Nothing hides what lies ahead, so positions only have to be there; padding lies ahead of all.
        const Tensor positions = isPadded()
                                     ? graph_.input(vision_names::kPadding, {.shape = {rows}, .dtype = DType::I32})
                                     : fill(graph_, {rows}, 0, DType::I32);
        for (size_t layer = 0; layer < layers_.size(); ++layer)
            x = blocks_.block(
                layer, x,
                {.queryPosition = positions, .keyPosition = positions, .sequence = build_.images == 1 ? 0 : tokens_});
        x = blocks_.gather(x);
        const Tensor normalized =
            graph_.probe(config_.normAfterPooling ? x : blocks_.finalNorm(x), vision_names::kNormalized, "TC");
        const Tensor pooled = pooledOf(perImage(normalized));
        result_.pooled =
            graph_.probe(config_.normAfterPooling ? blocks_.finalNorm(pooled) : pooled, "hook_pooled", "BC");
        if (config_.classes > 0) result_.logits = graph_.probe(logits(normalized), "logits", "BV");
        result_.attention = std::move(blocks_.attention);
        result_.blocks = std::move(blocks_.blocks);
        result_.composed.parameters = std::move(blocks_.composed.parameters);
        result_.composed.penalties = std::move(blocks_.composed.penalties);
        result_.composed.constants.insert(result_.composed.constants.end(), blocks_.composed.constants.begin(),
                                          blocks_.composed.constants.end());
        return std::move(result_);
    }

private:
    bool isPadded() const { return tokens_ != config_.tokens(); }

    static std::vector<LayerAttention> layersOf(const VisionConfig& config, const VisionBuild& build) {
        checkDescription(config);
        std::vector<LayerAttention> layers = config.layers;
        if (paddedTokens(config, build) != config.tokens())
            for (LayerAttention& layer : layers) layer.rule.causal = true; // hides what lies ahead: the padding
        return layers;
    }

    BlockSettings settings() const {
        return {.modelWidth = config_.modelWidth,
                .norm = config_.norm,
                .normEpsilon = config_.normEpsilon,
                .finalNorm = config_.finalNorm,
                .layerScale = config_.layerScale,
                .feedForward = config_.feedForward,
                .layers = layers_,
                .dropout = build_.dropout,
                .mayTrain = build_.mayTrain};
    }

    Tensor perImage(Tensor rows) const {
        return reshape(rows, {build_.images, rows.shape()[0] / build_.images, rows.shape().columns()});
    }
    static Tensor perRow(Tensor x) { return reshape(x, {x.shape()[0] * x.shape()[1], x.shape()[2]}); }

    /// Patches through one linear map, after the tokens that every image begins with. @return [B T, C]
    Tensor embedded() {
        const int64_t C = config_.modelWidth, N = config_.grid().area();
        const Tensor patches =
            graph_.input(vision_names::kPatches, {.shape = {build_.images * N, config_.patchValues()}});
        const Tensor weight = graph_.parameter("embed.W_E", {C, config_.patchValues()});
        const Tensor words = matmul(patches, weight, {.bias = graph_.parameter("embed.b_E", {C})});
        std::vector<Tensor> parts;
        const auto learn = [&](const char* name, int64_t count) {
            parts.push_back(broadcast(graph_.parameter(name, {count, C}), {build_.images, count, C}));
        };
        if (config_.clsToken) learn("embed.cls", 1);
        if (config_.distillationToken) learn("embed.distillation", 1);
        if (config_.registers > 0) learn("embed.registers", config_.registers);
        if (parts.empty() && !isPadded()) return words;
        parts.push_back(reshape(words, {build_.images, N, C}));
        const Tensor tokens = parts.size() == 1 ? parts.front() : concatenate(parts, 1);
        return perRow(isPadded() ? pad(tokens, 1, 0, tokens_ - config_.tokens()) : tokens);
    }

    /// @return [T,C] of one image, with its padding
    Tensor positionRows() {
        const Tensor rows = ownPositionRows();
        return isPadded() ? pad(rows, 0, 0, tokens_ - config_.tokens()) : rows;
    }
    Tensor ownPositionRows() {
        const int64_t C = config_.modelWidth, N = config_.grid().area();
        Tensor table;
        if (config_.positions == VisionPositions::Sinusoidal) {
            const ImageSize grid = config_.grid();
            result_.composed.constants.push_back(
                {vision_names::kSinusoids, {N, C}, [grid, C] { return sinusoidalGrid(grid, C); }});
            table = graph_.parameter(vision_names::kSinusoids, {N, C});
        } else {
            table = graph_.parameter(vision_names::kPositions, {config_.positionRows(), C});
        }
        const int64_t before = table.shape()[0] - N, without = config_.prefix() - before;
        if (without == 0) return table;
        if (before == 0) return pad(table, 0, without, 0);
        return concatenate(std::array{slice(table, 0, 0, before), pad(slice(table, 0, before, N), 0, without, 0)}, 0);
    }

    /// One token of each image. @param x [B,T,C]  @return [B,C]
    Tensor tokenOf(Tensor x, int64_t token) const {
        return reshape(slice(x, 1, token, 1), {build_.images, config_.modelWidth});
    }
    Tensor pooledOf(Tensor x) const { // [B,T,C] -> [B, pooledWidth]
        if (config_.pooling == VisionPooling::Cls) return tokenOf(x, 0);
        const Tensor mean = reshape(reduce(slice(x, 1, config_.prefix(), config_.grid().area()), Reduction::Mean, {1}),
                                    {build_.images, config_.modelWidth});
        return config_.pooling == VisionPooling::Mean ? mean : concatenate(std::array{tokenOf(x, 0), mean}, -1);
    }

    Tensor head(Tensor x, const std::string& name) {
        const Tensor weight = graph_.parameter(name + ".W_H", {config_.classes, x.shape().columns()});
        return matmul(x, weight, {.bias = graph_.parameter(name + ".b_H", {config_.classes})});
    }
    Tensor logits(Tensor normalized) {
        const Tensor own = head(result_.pooled, "head");
        if (!config_.distillationHead) return own;
        return scale(add(own, head(tokenOf(perImage(normalized), 1), "distillation_head")), 0.5);
    }

    const VisionConfig& config_;
    const VisionBuild& build_;
    const int64_t tokens_; ///< of each image, with padding
    const std::vector<LayerAttention> layers_;
    VisionGraph result_;
    Graph& graph_;
    BlockBuilder blocks_;
};

} // namespace

std::vector<std::string> prefixNames(const VisionConfig& config) {
    std::vector<std::string> names;
    if (config.clsToken) names.emplace_back("CLS");
    if (config.distillationToken) names.emplace_back("distillation");
    for (int64_t i = 1; i <= config.registers; ++i) names.push_back(fmt::format("register {}", i));
    return names;
}

int64_t paddedTokens(const VisionConfig& config, const VisionBuild& build) {
    const bool isComposed =
        std::ranges::any_of(config.layers, [](const LayerAttention& layer) { return layer.spec.has_value(); });
    return build.images == 1 || isComposed ? config.tokens() : (config.tokens() + 3) / 4 * 4;
}

void writePadding(std::span<int32_t> padding, int64_t images, int64_t tokens) {
    const auto rows = static_cast<int64_t>(padding.size()) / images;
    for (size_t row = 0; row < padding.size(); ++row) padding[row] = static_cast<int64_t>(row) % rows < tokens ? 0 : 1;
}

VisionGraph buildVisionEncoder(const VisionConfig& config, const VisionBuild& build) {
    return VisionBuilder(config, build).build();
}

std::vector<float> sinusoidalGrid(const ImageSize& grid, int64_t width) {
    const int64_t count = width / 4;
    std::vector<double> frequencies;
    for (int64_t i = 0; i < count; ++i)
        frequencies.push_back(
            std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(std::max<int64_t>(count - 1, 1))));
    std::vector<float> values;
    values.reserve(static_cast<size_t>(grid.area() * width));
    for (int64_t row = 0; row < grid.height; ++row)
        for (int64_t column = 0; column < grid.width; ++column)
            for (int64_t place : {column, row})
                for (const bool isCosine : {false, true})
                    for (double frequency : frequencies) {
                        const double angle = static_cast<double>(place) * frequency;
                        values.push_back(static_cast<float>(isCosine ? std::cos(angle) : std::sin(angle)));
                    }
    return values;
}

} // namespace attn
