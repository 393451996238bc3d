#include "engine/models/vision_grid.h"

#include "engine/attention/mask/grid.h"
#include "engine/attention/part.h"
#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace attn {
namespace {

/// Lets `visit` set the values of the parts of a composition that know a grid.
template <class Visit> void forGridParts(AttentionSpec& spec, Visit&& visit) {
    spec.mask = spec.mask.changed([&](const Part& part, std::span<double> values) {
        if (part.knowsGrid) visit(part, values);
    });
    if (const Part& position = spec.part(Slot::Position); position.knowsGrid)
        visit(position, std::span(spec.parts.at(Slot::Position).values));
    if (const Part* residual = spec.blockPart(Slot::Residual); residual && residual->knowsGrid)
        visit(*residual, std::span(spec.parts.at(Slot::Residual).values));
}

double* valueOf(const Part& part, std::span<double> values, std::string_view id) {
    const auto param = std::ranges::find(part.params, id, &Param::id);
    return param == part.params.end() ? nullptr : &values[static_cast<size_t>(param - part.params.begin())];
}

constexpr ImageSize kRowByRow{1, 1};

/// The parameters that say how large a grid is and in which blocks it is written.
std::array<std::pair<std::string_view, int64_t>, 6> extentsOf(const ImageSize& grid, const ImageSize& block) {
    return {{{"rows", grid.height},
             {"cols", grid.width},
             {"columns", grid.width},
             {kBlockHeight, block.height},
             {kBlockWidth, block.width},
             {kByBlock, block == kRowByRow ? 0 : 1}}};
}

} // namespace

bool knowsGrid(const AttentionSpec& spec) {
    bool result = false;
    AttentionSpec copy = spec;
    forGridParts(copy, [&](const Part&, std::span<double>) { result = true; });
    return result;
}

ImageSize blockOf(const WrittenPicture& picture) {
    return picture.blockHeight == 1 ? kRowByRow : ImageSize{picture.blockHeight, picture.blockWidth * picture.channels};
}

ImageSize blockOf(const AttentionSpec& spec) {
    ImageSize block = kRowByRow;
    AttentionSpec copy = spec;
    forGridParts(copy, [&](const Part& part, std::span<double> values) {
        if (const double* byBlock = valueOf(part, values, kByBlock); byBlock && *byBlock != 0)
            block = {static_cast<int64_t>(*valueOf(part, values, "h")),
                     static_cast<int64_t>(*valueOf(part, values, "w"))};
    });
    return block;
}

void setGrid(AttentionSpec& spec, const ImageSize& grid, int64_t leading, const ImageSize& block) {
    forGridParts(spec, [&](const Part& part, std::span<double> values) {
        *valueOf(part, values, kLeading) = static_cast<double>(leading);
        const auto set = [&](std::string_view id, int64_t extent) {
            if (double* value = valueOf(part, values, id)) *value = static_cast<double>(extent);
        };
        for (const auto& [id, extent] : extentsOf(grid, block)) set(id, extent);
        if (block == kRowByRow || !valueOf(part, values, kByBlock)) return;
        set("h", block.height);
        set("w", block.width);
    });
}

void placeOnGrid(ModelSpec& config) {
    for (LayerAttention& layer : config.layers)
        forGridParts(layer.spec, [&](const Part& part, std::span<double> values) {
            *valueOf(part, values, kLeading) = static_cast<double>(config.patches.prefix());
        });
}

namespace {

void requireGridOfText(const ModelSpec& config) {
    const WrittenPicture& picture = *config.picture;
    const ImageSize block = blockOf(picture);
    for (const LayerAttention& layer : config.layers) {
        AttentionSpec fitting = layer.spec;
        forGridParts(fitting, [&](const Part& part, std::span<double> values) {
            if (block != kRowByRow && !valueOf(part, values, kBlockHeight) && !valueOf(part, values, kByBlock))
                throw Error(
                    {.what = fmt::format("{} expects a picture that is written row by row, but this one is written "
                                         "in blocks of {} x {} pixels",
                                         part.id, picture.blockHeight, picture.blockWidth),
                     .where = "recipe: attention",
                     .hint = "use local2d, learned_2d or sinusoidal_2d, or set the block height to 1"});
        });
        setGrid(fitting, {picture.rows, picture.columns * picture.channels}, WrittenPicture::kLeading, block);
        if (fitting != layer.spec)
            throw Error({.what = fmt::format("the attention {} is made for another grid than that of the picture",
                                             layer.spec.text()),
                         .where = "recipe: attention",
                         .hint = "write " + fitting.text()});
    }
}

void requireGridOfPatches(const ModelSpec& config) {
    for (int64_t layer = 0; layer <= config.lastLayer(); ++layer) {
        const auto at = static_cast<size_t>(layer);
        if (at < config.patches.windows.size() && config.patches.windows[at].size > 0) continue;
        AttentionSpec spec = config.layers[at].spec;
        const ImageSize grid = config.patches.gridOf(layer);
        forGridParts(spec, [&](const Part& part, std::span<double> values) {
            if (std::ranges::any_of(config.patches.pools, [&](const TokenPool& pool) { return pool.layer <= layer; }))
                throw Error({.what = fmt::format("{} needs a grid, but pooled tokens have none", part.title),
                             .where = "recipe: attention",
                             .hint = "do not pool tokens, or choose another attention"});
            for (const auto& [id, extent] : extentsOf(grid, kRowByRow))
                if (const double* value = valueOf(part, values, id); value && *value != static_cast<double>(extent))
                    throw Error({.what = fmt::format("{} is made for {} = {}, but layer {} has a grid of {} rows and "
                                                     "{} columns of patches",
                                                     part.id, id, *value, layer, grid.height, grid.width),
                                 .where = "recipe: attention",
                                 .hint = fmt::format("write {} = {} for {}", id, extent, part.id)});
        });
    }
}

} // namespace

void requireGrid(const ModelSpec& config) {
    if (config.axis == AxisKind::Patches) requireGridOfPatches(config);
    if (config.picture) requireGridOfText(config);
}

} // namespace attn
