#include "app/scope/head_pattern.h"

#include <algorithm>
#include <tuple>

namespace attn::scope {
namespace {

constexpr int kMostExact = 2048; // tokens that one tile shows cell by cell

/// The pixels of a tile, at this place in device memory.
DevicePixels pixelsAt(const PatternTile& tile, VkBuffer buffer, uint64_t byteOffset, uint64_t byteSize, int rowStride) {
    return {buffer,       byteOffset,      byteSize,      rowStride,     tile.rows,
            tile.columns, tile.queryBegin, tile.queryEnd, tile.keyBegin, tile.keyEnd};
}

} // namespace

bool HeadPattern::isCausal() const { return subject_.language().ruleOf(subject_.layer()).causal; }
int HeadPattern::window() const { return static_cast<int>(subject_.language().ruleOf(subject_.layer()).window); }

PatternRequest HeadPattern::viewOf(std::pair<int, int> queries, std::pair<int, int> keys) const {
    PatternRequest view{.site = subject_.layer(), .head = subject_.head(), .detailSize = kMostExact};
    if (subject_.tokenCount() <= kMostExact) return view;
    std::tie(view.queryBegin, view.queryEnd) = queries;
    std::tie(view.keyBegin, view.keyEnd) = keys;
    return view;
}

bool HeadPattern::isReady(std::pair<int, int> queries, std::pair<int, int> keys, float) {
    if (!pixelsOf_ || version_ != subject_.version()) return false;
    const auto key = [](const PatternRequest& v) {
        return std::tuple(v.site, v.head, v.queryBegin, v.queryEnd, v.keyBegin, v.keyEnd);
    };
    return key(viewOf(queries, keys)) == key(*pixelsOf_);
}

const DevicePixels& HeadPattern::pixels(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) {
    if (isReady(queries, keys, cellPixels)) return pixels_;
    pixelsOf_ = viewOf(queries, keys);
    version_ = subject_.version();
    LanguageModel& language = subject_.language();
    if (subject_.hasChangedPattern()) {
        const PatternTile tile = language.patterns().tile(*pixelsOf_);
        changedRows_ = {}; // free the old memory before allocating
        changedRows_ = gpu::Buffer(language.device().context(), {.sizeBytes = tile.values.size() * sizeof(float),
                                                                 .placement = gpu::Placement::Upload,
                                                                 .name = "changed pattern"});
        std::ranges::copy(tile.values, changedRows_.mappedAs<float>().begin());
        return pixels_ = pixelsAt(tile, changedRows_.get(), 0, tile.values.size() * sizeof(float), tile.columns);
    }
    const DevicePattern pattern = language.patterns().onDevice(*pixelsOf_);
    return pixels_ = pixelsAt(pattern.tile, pattern.buffer ? pattern.buffer->get() : VK_NULL_HANDLE, pattern.byteOffset,
                              pattern.byteSize, pattern.rowStride);
}

float HeadPattern::probability(const Cell& cell) {
    const CellReading::Place place{cell, subject_.layer(), subject_.head(), subject_.version()};
    return reading_.at(place, [&] {
        return subject_.language().patterns().weight({place.site, place.head, cell.query, cell.key});
    });
}

std::string HeadPattern::facts() const { return subject_.hasChangedPattern() ? "pattern changed" : std::string(); }

} // namespace attn::scope
