#include "engine/models/model_cost.h"

#include "engine/attention/execution.h"
#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

/// Whether a layer runs without its mask and pattern: the kernel serves it, which the mask's bands alone tell.
bool isLight(const LayerAttention& layer) {
    constexpr int64_t kLong = int64_t{1} << 40;
    return isBare(layer.spec) && layer.spec.mask.band() && kernelRule(layer.spec, kLong, layer.headWidth);
}

/// The cells of a layer's masks, which are visited when the model is opened. @param cells of one pattern
double maskCells(const LayerAttention& layer, double cells) {
    if (isLight(layer)) return 0;
    return cells * static_cast<double>(layer.spec.mask.dependsOnHead() ? layer.heads().heads : int64_t{1});
}

void requireAffordableText(const ModelSpec& config, const std::string& file) {
    const auto context = static_cast<double>(config.context); // products of doubles do not overflow
    double cells = 0;
    for (const LayerAttention& layer : config.layers) cells += maskCells(layer, context * context);
    if (std::ranges::all_of(config.layers, isLight) ||
        (cells <= static_cast<double>(kMostMaskCells) && context * context <= static_cast<double>(kMostPatternCells)))
        return;
    throw Error({.what = fmt::format("a context of {} tokens in {} layers needs masks of {:.3g} cells; at most {:.3g} "
                                     "cells and {:.3g} in one mask are supported",
                                     config.context, config.layers.size(), cells, static_cast<double>(kMostMaskCells),
                                     static_cast<double>(kMostPatternCells)),
                 .where = file,
                 .hint = "set a shorter \"context\""});
}

void requireAffordablePictures(const ModelSpec& config, const std::string& file) {
    double all = 0, largest = 0, masks = 0;
    for (int64_t layer = 0; layer <= config.lastLayer(); ++layer) {
        const auto at = static_cast<size_t>(layer);
        const auto tokens = static_cast<double>(config.patches.tokensOf(layer));
        const int64_t side = at < config.patches.windows.size() ? config.patches.windows[at].size : 0;
        const double seen =
            side == 0 ? tokens : std::min(tokens, static_cast<double>(side) * static_cast<double>(side));
        largest = std::max(largest, tokens * seen);
        all += tokens * seen * static_cast<double>(config.layers[at].heads().heads);
        masks += maskCells(config.layers[at], tokens * seen);
    }
    if (largest <= static_cast<double>(kMostPatternCells) && all <= static_cast<double>(kMostModelCells) &&
        masks <= static_cast<double>(kMostMaskCells))
        return;
    throw Error(
        {.what = fmt::format("pictures of {} x {} pixels give {} tokens: patterns of {:.3g} cells in all and "
                             "{:.3g} a head, and masks of {:.3g}; at most {:.3g}, {:.3g} and {:.3g} are supported",
                             config.patches.image.width, config.patches.image.height, config.patches.tokens(), all,
                             largest, masks, static_cast<double>(kMostModelCells),
                             static_cast<double>(kMostPatternCells), static_cast<double>(kMostMaskCells)),
         .where = file,
         .hint = "choose smaller pictures or a model with larger patches"});
}

} // namespace

void requireAffordable(const ModelSpec& config, const std::string& file) {
    if (config.layers.size() > static_cast<size_t>(kMostLayers))
        throw Error(
            {.what = fmt::format("describes {} layers; at most {} are supported", config.layers.size(), kMostLayers),
             .where = file,
             .hint = "copy the config.json that belongs to the weights"});
    if (config.axis == AxisKind::Patches)
        requireAffordablePictures(config, file);
    else
        requireAffordableText(config, file);
}

} // namespace attn
