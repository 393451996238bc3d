#include "engine/models/vision_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attn {
namespace {

int64_t multipleOf(int64_t size, int64_t step) { return (size + step - 1) / step * step; }

/// The strip of a place: before the last window, in the last window, or moved there from the other edge.
int32_t stripOf(int64_t place, int64_t extent, GridWindows windows) {
    if (windows.shift == 0 || place < extent - windows.size) return 0;
    return place < extent - windows.shift ? 1 : 2;
}

} // namespace

ImageSize PatchEmbedding::gridOf(int64_t layer) const {
    ImageSize size = grid();
    for (int64_t merge = mergesUpTo(layer); merge > 0; --merge) size = {(size.height + 1) / 2, (size.width + 1) / 2};
    return size;
}

int64_t PatchEmbedding::tokensOf(int64_t layer) const {
    int64_t patches = gridOf(layer).area();
    for (const TokenPool& pool : pools)
        if (pool.layer <= layer) patches = pool.tokens;
    return prefix() + patches;
}

std::vector<const StreamSpec*> ModelSpec::streams() const {
    if (encoder) return {&*encoder, this};
    return {this};
}

void ModelSpec::readFrom(StreamSpec source) {
    stack = "decoder";
    source.stack = "encoder";
    source.inputs = "source.";
    encoder = std::move(source);
}

std::vector<std::string> PatchEmbedding::prefixNames() const {
    std::vector<std::string> names;
    if (clsToken) names.emplace_back("CLS");
    if (distillationToken) names.emplace_back("distillation");
    for (int64_t i = 1; i <= registers; ++i) names.push_back(fmt::format("register {}", i));
    return names;
}

bool WindowLayout::hidesAny() const {
    for (int64_t first = 0; first < windows * length(); first += length())
        if (std::any_of(regions.begin() + first, regions.begin() + first + length(),
                        [&](int32_t region) { return region != regions[static_cast<size_t>(first)]; }))
            return true;
    return false;
}

WindowLayout windowLayout(const ImageSize& grid, GridWindows windows) {
    if (const int64_t shorter = std::min(grid.height, grid.width); shorter <= windows.size) windows = {shorter, 0};
    const int64_t height = multipleOf(grid.height, windows.size), width = multipleOf(grid.width, windows.size);
    WindowLayout layout{.windows = height / windows.size * (width / windows.size),
                        .side = windows.size,
                        .order = {},
                        .places = std::vector<int32_t>(static_cast<size_t>(grid.area())),
                        .regions = {}};
    for (int64_t top = 0; top < height; top += windows.size)
        for (int64_t left = 0; left < width; left += windows.size)
            for (int64_t y = top; y < top + windows.size; ++y)
                for (int64_t x = left; x < left + windows.size; ++x) {
                    const int64_t row = (y + windows.shift) % height, column = (x + windows.shift) % width;
                    const bool isToken = row < grid.height && column < grid.width;
                    const auto token = static_cast<int32_t>(isToken ? row * grid.width + column : -1);
                    if (isToken) layout.places[static_cast<size_t>(token)] = static_cast<int32_t>(layout.order.size());
                    layout.order.push_back(token);
                    layout.regions.push_back(3 * stripOf(y, height, windows) + stripOf(x, width, windows));
                }
    return layout;
}

std::vector<std::array<float, 2>> LayerLayout::centres(int64_t columns) const {
    std::vector<std::array<float, 2>> places(static_cast<size_t>(tokens), {0, 0});
    std::vector<float> members(static_cast<size_t>(tokens), 0);
    for (size_t patch = 0; patch < tokenOf.size(); ++patch) {
        const auto token = static_cast<size_t>(tokenOf[patch]);
        places[token][0] += static_cast<float>(static_cast<int64_t>(patch) / columns);
        places[token][1] += static_cast<float>(static_cast<int64_t>(patch) % columns);
        ++members[token];
    }
    for (size_t token = 0; token < places.size(); ++token)
        for (float& place : places[token])
            if (members[token] > 0) place /= members[token];
    return places;
}

std::vector<LayerLayout> layerLayouts(const ModelSpec& config) {
    std::vector<LayerLayout> layouts;
    const ImageSize patches = config.patches.grid();
    for (int64_t layer = 0; layer <= config.lastLayer(); ++layer) {
        const ImageSize grid = config.patches.gridOf(layer);
        const int64_t merges = config.patches.mergesUpTo(layer), prefix = config.patches.prefix();
        LayerLayout layout{.prefix = prefix, .tokens = prefix + grid.area(), .tokenOf = {}, .windows = {}};
        for (int64_t row = 0; row < patches.height; ++row)
            for (int64_t column = 0; column < patches.width; ++column)
                layout.tokenOf.push_back(
                    static_cast<int32_t>(prefix + (row >> merges) * grid.width + (column >> merges)));
        const size_t at = static_cast<size_t>(layer);
        if (at < config.patches.windows.size() && config.patches.windows[at].size > 0)
            layout.windows = windowLayout(grid, config.patches.windows[at]);
        layouts.push_back(std::move(layout));
    }
    return layouts;
}

LayerLayout pooledLayout(const LayerLayout& before, const std::vector<int32_t>& pooledInto, int64_t tokens) {
    LayerLayout layout{.prefix = before.prefix, .tokens = before.prefix + tokens, .tokenOf = {}, .windows = {}};
    for (const int32_t token : before.tokenOf)
        layout.tokenOf.push_back(static_cast<int32_t>(before.prefix) +
                                 pooledInto[static_cast<size_t>(token - before.prefix)]);
    return layout;
}

} // namespace attn
