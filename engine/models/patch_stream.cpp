#include "engine/models/patch_stream.h"

#include "engine/attention/block/block_flow.h"
#include "engine/attention/execution.h"
#include "engine/attention/part.h"
#include "engine/core/error.h"
#include "engine/models/hook_names.h"
#include "engine/models/stream_builder.h"
#include "engine/models/vision_layout.h"
#include "engine/ops/tensor_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {
namespace {

/// @param name of the model
void checkDescription(const StreamSpec& config, const std::string& name) {
    const auto refuse = [&](const std::string& what, const std::string& hint) {
        throw Error({.what = what, .where = name, .hint = hint});
    };
    const auto [height, width] = config.patches.image;
    if (height < 1 || width < 1 || height % config.patches.patch != 0 || width % config.patches.patch != 0)
        refuse(fmt::format("a picture of {} x {} pixels cannot be cut into patches of {} x {}", width, height,
                           config.patches.patch, config.patches.patch),
               fmt::format("choose sides that are multiples of {}", config.patches.patch));
    if (config.patches.prefix() > 0 && !(config.patches.merges.empty() && config.patches.windows.empty()))
        refuse("windows and merges need a model without a CLS token and registers",
               "use the mean of the patches instead of CLS");
    for (size_t i = 0; i < config.patches.pools.size(); ++i) {
        const TokenPool& pool = config.patches.pools[i];
        if (i > 0 && pool.layer <= config.patches.pools[i - 1].layer)
            refuse(fmt::format("the pool before layer {} comes after the pool before layer {}", pool.layer,
                               config.patches.pools[i - 1].layer),
                   "list each layer once, in rising order");
        const int64_t before = config.patches.tokensOf(pool.layer - 1) - config.patches.prefix();
        if (pool.layer < 1 || pool.layer > config.lastLayer() || pool.tokens < 1 || pool.tokens >= before)
            refuse(fmt::format("{} tokens cannot be pooled into {} before layer {}", before, pool.tokens, pool.layer),
                   fmt::format("pool into 1 to {} tokens, before one of the layers 1 to {}", before - 1,
                               config.lastLayer()));
        if (!(config.patches.merges.empty() && config.patches.windows.empty()))
            refuse("windows and merges need a grid, but pooled tokens have none",
                   "remove the pools, or the windows and merges");
    }
    if (config.positions == Positions::Sinusoidal && config.modelWidth % 4 != 0)
        refuse(fmt::format("sinusoidal positions in two dimensions need a width that is a multiple of 4, not {}",
                           config.modelWidth),
               "choose another width or learned positions");
}

class PatchBuilder : public StreamBuilder {
public:
    PatchBuilder(const ModelSpec& model, const StreamSpec& stream, const ModelBuild& build,
                 std::shared_ptr<Graph> graph)
        : StreamBuilder(model, stream, build, std::move(graph), layersOf(stream, model.name)) {}

    ModelGraph build() override {
        if (model_.classReadout().pooling != PatchPooling::Mean && !config_.patches.clsToken)
            throw Error({.what = "the classifier reads a CLS token, but the model has none",
                         .where = model_.name,
                         .hint = "use the mean of the patches instead"});
        const Reading read =
            readBy(rows(), [&](Tensor of, const char* name, const char* axes) { return graph_.probe(of, name, axes); });
        result_.pooled = read.pooled;
        result_.logits = read.logits;
        return finished();
    }

private:
    KeyPositions keyPositions(int64_t rows) override {
        if (!isPadded()) return {fill(graph_, {rows}, 0, DType::I32)};
        constexpr int64_t kReach = int64_t{1} << 20; // farther than any query
        return {toInteger(affine(toReal(positions_), static_cast<double>(-kReach), 0)), kReach};
    }

    Tensor rows() override {
        Tensor x = graph_.probe(embedded(), config_.named("hook_embed"), "TC");
        if (config_.positions != Positions::None) {
            const Tensor positions = positionRows();
            graph_.probe(affine(positions, 1, 0), config_.named("hook_pos_embed"),
                         "TC");                                      // a parameter cannot be a result itself
            x = perRow(binary(perImage(x), positions, Binary::Add)); // [B,T,C] + [T,C]
        }
        x = blocks_.spread(blocks_.dropped(x));
        // Without a causal mask, positions matter only for padding, which lies after all tokens.
        positions_ = isPadded() ? graph_.input(config_.inputs + vision_names::kPadding,
                                               {.shape = {build_.images * rows_}, .dtype = DType::I32})
                                : fill(graph_, {build_.images * rows_}, 0, DType::I32);
        if (build_.readsAllLayers) addStage(x, -1);
        for (int64_t layer = 0; layer <= config_.lastLayer(); ++layer) {
            if (std::ranges::count(config_.patches.merges, layer) > 0) x = merged(x, layer);
            const auto pool = std::ranges::find(config_.patches.pools, layer, &TokenPool::layer);
            if (pool != config_.patches.pools.end()) x = pooledTokens(x, *pool);
            if (pool != config_.patches.pools.end() || std::ranges::count(config_.patches.merges, layer) > 0)
                positions_ = paddingOf(layer); // this layer has fewer tokens
            const std::optional<RowGroups> groups = windowsOf(layer);
            x = blocks_.block(static_cast<size_t>(layer), x,
                              {.queryPosition = positions_,
                               .keyPosition = positions_,
                               .isPadded = isPadded(),
                               .sequence = build_.images == 1 ? 0 : rows_,
                               .groups = groups ? &*groups : nullptr,
                               .isFormed = build_.isFormed});
            if (build_.readsAllLayers) addStage(x, layer);
        }
        return blocks_.gather(x);
    }

    bool isPadded() const { return rows_ != tokens_; }

    static std::vector<LayerAttention> layersOf(const StreamSpec& config, const std::string& name) {
        checkDescription(config, name);
        std::vector<LayerAttention> layers = config.layers;
        for (int64_t layer = 0; layer <= config.lastLayer(); ++layer) {
            LayerAttention& attention = layers[static_cast<size_t>(layer)];
            if (static_cast<size_t>(layer) >= config.patches.windows.size() ||
                config.patches.windows[static_cast<size_t>(layer)].size == 0)
                continue;
            if (!attention.spec.part(Slot::Position).position.fitsWindow) continue;
            const ImageSize grid = config.patches.gridOf(layer); // a grid smaller than the window is one window
            const int64_t side =
                std::min({config.patches.windows[static_cast<size_t>(layer)].size, grid.height, grid.width});
            for (const char* extent : {"rows", "cols"})
                attention.spec.setValue(Slot::Position, extent, static_cast<double>(side));
        }
        return layers;
    }

    Tensor perImage(Tensor rows) const {
        return reshape(rows, {build_.images, rows.shape()[0] / build_.images, rows.shape().columns()});
    }
    static Tensor perRow(Tensor x) { return reshape(x, {x.shape()[0] * x.shape()[1], x.shape()[2]}); }

    /// Merges 2 x 2 adjacent tokens by a norm and a linear map. @return [B * N/4, 2C]
    /// @source Liu et al. 2021, arXiv:2103.14030, section 3.1, "patch merging"
    Tensor merged(Tensor x, int64_t layer) {
        const ImageSize before = config_.patches.gridOf(layer - 1), grid = config_.patches.gridOf(layer);
        const int64_t B = build_.images, C = config_.widthOf(layer - 1);
        if (x.shape().columns() != C || blocks_.hooks(static_cast<size_t>(layer), Slot::Layers).sharesWeights)
            throw Error({.what = "layers of different width cannot share parameters or have several residual streams",
                         .where = model_.name,
                         .hint = "remove merges, or layers=shared and residual=reversible"});
        if (before.height % 2 != 0 || before.width % 2 != 0) { // a row or column of zeros at the end
            x = reshape(x, {B, before.height, before.width, C});
            x = pad(pad(x, 1, 0, before.height % 2), 2, 0, before.width % 2);
        }
        x = permute(reshape(x, {B * grid.height, 2, grid.width, 2, C}), {0, 2, 3, 1, 4}); // row within column
        x = reshape(x, {B * grid.area(), 4 * C});
        const std::string name = config_.named(fmt::format("merge.{}", layer));
        x = learnedNorm(x, name + ".ln");
        x = matmul(x, graph_.parameter(name + ".W", {2 * C, 4 * C}), {});
        blocks_.widen();
        tokens_ = rows_ = grid.area();
        return graph_.probe(x, blocks_.nameOf(static_cast<size_t>(layer)) + ".hook_merged", "TC");
    }

    /// Replaces the tokens after the prefix by the means of clusters. @return [B * T, C] with fewer tokens
    Tensor pooledTokens(Tensor x, const TokenPool& pool) {
        constexpr int kRounds = 5;
        const int64_t B = build_.images, P = config_.patches.prefix(), N = tokens_ - P, K = pool.tokens;
        const Tensor all = perImage(x); // [B,T,C]
        const Tensor tokens = slice(all, 1, P, N), still = stopGradient(tokens);
        const Tensor ones = fill(graph_, {B, N, 1}, 1);
        std::vector<float> first; // evenly over the picture
        for (int64_t k = 0; k < K; ++k) first.push_back(static_cast<float>((2 * k + 1) * N / (2 * K)));
        const std::string name = fmt::format("pool.{}#{}", pool.layer, N);
        blocks_.partTensors.constants.push_back({name, {K}, [first] { return first; }});
        const Tensor ids = broadcast(reshape(toInteger(graph_.parameter(name, {K})), {1, K}), {B, K});
        Tensor centres = take(still, ids), nearest; // [B,K,C]
        const auto meansOf = [&](Tensor of) {       // an empty cluster keeps its centre
            const Tensor count = put(ones, nearest, K);
            const Tensor mean =
                binary(put(of, nearest, K), binary(count, fill(graph_, {1, 1, 1}, 1), Binary::Maximum), Binary::Divide);
            return select(count, mean, centres);
        };
        for (int round = 0; round < kRounds; ++round) {
            const Tensor norms = reduce(unary(centres, Unary::Square), Reduction::Sum, {2}); // [B,K,1]
            const Tensor closeness = binary(batchedMatmul(still, centres, {.transposeB = true, .scale = 2}),
                                            permute(norms, {0, 2, 1}), Binary::Subtract); // [B,N,K]
            nearest = reshape(argmax(closeness), {B, N});
            if (round + 1 < kRounds) centres = meansOf(still);
        }
        graph_.probe(affine(toReal(nearest), 1, 0),
                     blocks_.nameOf(static_cast<size_t>(pool.layer)) + ".hook_pooled_into", "BN");
        const Tensor means = meansOf(tokens);
        tokens_ = P + K;
        rows_ = paddedTokens(config_, build_.images, pool.layer);
        const Tensor kept = P == 0 ? means : concatenate(std::array{slice(all, 1, 0, P), means}, 1);
        return perRow(isPadded() ? pad(kept, 1, 0, rows_ - tokens_) : kept);
    }

    /// Positions for a layer with fewer tokens than the previous one: 1 for padding, else 0. @return I32 [B * rows]
    Tensor paddingOf(int64_t layer) {
        const int64_t rows = build_.images * rows_;
        if (!isPadded()) return fill(graph_, {rows}, 0, DType::I32);
        const std::string name = fmt::format("pool.{}.padding#{}", layer, rows_);
        std::vector<float> values(static_cast<size_t>(rows_), 0.0f);
        std::fill(values.begin() + tokens_, values.end(), 1.0f);
        blocks_.partTensors.constants.push_back({name, {rows_}, [values] { return values; }});
        const Tensor one = reshape(toInteger(graph_.parameter(name, {rows_})), {1, rows_});
        return reshape(broadcast(one, {build_.images, rows_}), {rows});
    }

    /// The windows of a layer; none if tokens attend to the whole grid.
    std::optional<RowGroups> windowsOf(int64_t layer) {
        const auto at = static_cast<size_t>(layer);
        if (at >= config_.patches.windows.size() || config_.patches.windows[at].size == 0) return {};
        const WindowLayout layout = windowLayout(config_.patches.gridOf(layer), config_.patches.windows[at]);
        const int64_t length = layout.length();
        const auto constant = [&](const char* part, Shape shape, std::vector<float> values) {
            const std::string name = fmt::format("windows.{}.{}#{}", layer, part, tokens_);
            blocks_.partTensors.constants.push_back({name, shape, [values = std::move(values)] { return values; }});
            return graph_.parameter(name, shape);
        };
        const auto ids = [&](const char* part, const std::vector<int32_t>& values) {
            return toInteger(constant(part, {static_cast<int64_t>(values.size())}, {values.begin(), values.end()}));
        };
        RowGroups groups{.order = ids("order", layout.order),
                         .places = ids("places", layout.places),
                         .visible = {},
                         .groups = layout.windows,
                         .length = length};
        if (layout.hidesAny()) {
            std::vector<float> cells;
            for (auto first = layout.regions.begin(); first != layout.regions.end(); first += length)
                for (auto query = first; query != first + length; ++query)
                    for (auto key = first; key != first + length; ++key) cells.push_back(*query == *key ? 1.0f : 0.0f);
            groups.visible = constant("visible", {layout.windows, 1, length, length}, std::move(cells));
        }
        return groups;
    }

    /// Embeds patches by a linear map and puts the prefix tokens before them. @return [B * T, C]
    Tensor embedded() {
        const int64_t C = config_.modelWidth, N = config_.patches.grid().area();
        const Tensor patches = graph_.input(config_.inputs + vision_names::kPatches,
                                            {.shape = {build_.images * N, config_.patches.patchValues()}});
        const Tensor weight = graph_.parameter(config_.named("embed.W_E"), {C, config_.patches.patchValues()});
        Tensor words = matmul(patches, weight, {.bias = graph_.parameter(config_.named("embed.b_E"), {C})});
        if (config_.embeddingNorm) words = learnedNorm(words, config_.named("embed.ln"));
        std::vector<Tensor> parts;
        const auto learn = [&](const char* name, int64_t count) {
            parts.push_back(broadcast(graph_.parameter(config_.named(name), {count, C}), {build_.images, count, C}));
        };
        if (config_.patches.clsToken) learn("embed.cls", 1);
        if (config_.patches.distillationToken) learn("embed.distillation", 1);
        if (config_.patches.registers > 0) learn("embed.registers", config_.patches.registers);
        if (parts.empty() && !isPadded()) return words;
        parts.push_back(reshape(words, {build_.images, N, C}));
        const Tensor tokens = parts.size() == 1 ? parts.front() : concatenate(parts, 1);
        return perRow(isPadded() ? pad(tokens, 1, 0, rows_ - tokens_) : tokens);
    }

    /// @return [T,C] for one image, with its padding
    Tensor positionRows() {
        const Tensor rows = ownPositionRows();
        return isPadded() ? pad(rows, 0, 0, rows_ - tokens_) : rows;
    }
    Tensor ownPositionRows() {
        const int64_t C = config_.modelWidth, N = config_.patches.grid().area();
        Tensor table;
        if (config_.positions == Positions::Sinusoidal) {
            const ImageSize grid = config_.patches.grid();
            blocks_.partTensors.constants.push_back(
                {vision_names::kSinusoids, {N, C}, [grid, C] { return sinusoidalGrid(grid, C); }});
            table = graph_.parameter(vision_names::kSinusoids, {N, C});
        } else {
            table = graph_.parameter(config_.named(vision_names::kPositions), {config_.patches.positionRows(), C});
        }
        const int64_t before = table.shape()[0] - N, without = config_.patches.prefix() - before;
        if (without == 0) return table;
        if (before == 0) return pad(table, 0, without, 0);
        return concatenate(std::array{slice(table, 0, 0, before), pad(slice(table, 0, before, N), 0, without, 0)}, 0);
    }

    /// One token of each image. @param x [B,T,C]  @return [B,C]
    Tensor tokenOf(Tensor x, int64_t token) const {
        return reshape(slice(x, 1, token, 1), {build_.images, x.shape()[2]});
    }
    Tensor pooledOf(Tensor x) const { // [B,T,C] -> [B, pooledWidth]
        if (model_.classReadout().pooling == PatchPooling::Cls) return tokenOf(x, 0);
        const Tensor patches = slice(x, 1, config_.patches.prefix(), tokens_ - config_.patches.prefix());
        const Tensor mean = reshape(reduce(patches, Reduction::Mean, {1}), {build_.images, x.shape()[2]});
        return model_.classReadout().pooling == PatchPooling::Mean ? mean
                                                                   : concatenate(std::array{tokenOf(x, 0), mean}, -1);
    }

    Tensor head(Tensor x, const std::string& name) {
        const Tensor weight = graph_.parameter(name + ".W_H", {model_.classReadout().classes, x.shape().columns()});
        return matmul(x, weight, {.bias = graph_.parameter(name + ".b_H", {model_.classReadout().classes})});
    }
    Tensor logits(Tensor pooled, Tensor distilled) { // `distilled` is the pooled distillation token
        const Tensor own = head(pooled, "head");
        if (!model_.classReadout().distillationHead) return own;
        return scale(add(own, head(distilled, "distillation_head")), 0.5);
    }

    struct Reading {
        Tensor pooled, logits;
    };
    /// Applies the classifier to the residual stream after a layer. @param named adds a probe, or returns its argument
    template <class Named> Reading readBy(Tensor x, const Named& named) {
        x = blocks_.gather(x);
        const Tensor normalized =
            named(model_.classReadout().normAfterPooling ? x : blocks_.finalNorm(x), vision_names::kNormalized, "TC");
        Tensor pooled = pooledOf(perImage(normalized));
        pooled =
            named(model_.classReadout().normAfterPooling ? blocks_.finalNorm(pooled) : pooled, "hook_pooled", "BC");
        if (model_.classReadout().classes == 0) return {pooled, {}};
        const Tensor distilled = model_.classReadout().distillationHead ? tokenOf(perImage(normalized), 1) : Tensor();
        return {pooled, named(logits(pooled, distilled), "logits", "BV")};
    }
    /// @param layer -1: the embedding
    void addStage(Tensor x, int64_t layer) {
        const bool isReadable = model_.classReadout().classes > 0 &&
                                (config_.patches.merges.empty() || layer >= config_.patches.merges.back());
        const auto asIs = [](Tensor of, const char*, const char*) { return of; };
        result_.stages.push_back(isReadable ? readBy(x, asIs).logits : Tensor());
        Tensor each;
        if (isReadable && model_.classReadout().pooling != PatchPooling::ClsAndMean) {
            each = blocks_.finalNorm(blocks_.gather(x));
            each = logits(each, each);
        }
        result_.tokenStages.push_back(each);
    }

    int64_t tokens_ = config_.patches.tokens();           ///< tokens per image, at the current layer
    int64_t rows_ = paddedTokens(config_, build_.images); ///< tokens per image, with padding
    Tensor positions_;                                    ///< I32 [B * rows] 1 for padding, else 0
};

} // namespace

int64_t paddedTokens(const StreamSpec& config, int64_t images, int64_t layer) {
    const int64_t tokens = config.patches.tokensOf(layer);
    if (images == 1 || !config.patches.windows.empty()) return tokens;
    for (int64_t at = 0; at <= config.lastLayer(); ++at) { // only the kernel hides padding
        const LayerAttention& attention = config.layers[static_cast<size_t>(at)];
        const auto rule =
            kernelRule(attention.spec, config.patches.tokensOf(at), attention.headWidth, static_cast<int>(at));
        if (!rule || rule->causal) return tokens;
    }
    return (tokens + 3) / 4 * 4;
}

void writePadding(std::span<int32_t> padding, int64_t images, int64_t tokens) {
    const auto rows = static_cast<int64_t>(padding.size()) / images;
    for (size_t row = 0; row < padding.size(); ++row) padding[row] = static_cast<int64_t>(row) % rows < tokens ? 0 : 1;
}

std::unique_ptr<StreamBuilder> patchStream(const ModelSpec& model, const StreamSpec& stream, const ModelBuild& build,
                                           std::shared_ptr<Graph> graph) {
    return std::make_unique<PatchBuilder>(model, stream, build, std::move(graph));
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
