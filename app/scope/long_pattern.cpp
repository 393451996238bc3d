#include "app/scope/long_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace attn::scope {
namespace {

constexpr double kFrameMs = 30; // time to work on the view between two frames

} // namespace

LongPattern::LongPattern(RandomSubject& subject) : subject_(subject), longPattern_(&subject.longPattern()) {
    longPattern_->keepOnDevice();
}

LongPattern::LongPattern(ModelSubject& subject) : subject_(subject), model_(&subject) { follow(); }

bool LongPattern::isCausal() const { return model_ == nullptr || model_->language().ruleOf(subject_.layer()).causal; }
int LongPattern::window() const {
    if (model_ == nullptr) return 0;
    return static_cast<int>(model_->language().ruleOf(subject_.layer()).window);
}

/// Switches to the subject's current layer and the model's current tokens.
void LongPattern::follow() {
    if (model_ == nullptr) return;
    if (!own_ || layer_ != subject_.layer() || room_ != model_->language().roomChanges()) {
        own_ = nullptr; // frees it first: two views would share the statistics of their rows
        own_ = model_->microscope().longPatternView(subject_.layer());
        longPattern_ = own_.get();
        longPattern_->keepOnDevice();
        layer_ = subject_.layer();
        room_ = model_->language().roomChanges();
    } else if (version_ != model_->version()) {
        own_->setTokens(model_->tokenCount(), model_->firstChanged(version_));
    } else {
        return;
    }
    version_ = model_->version();
    isDrawn_ = false;
}

std::string LongPattern::facts() const {
    const LongPatternPicture& shown = longPattern_->picture();
    const auto exact = std::ranges::count_if(shown.isExact, [](uint8_t row) { return row != 0; });
    const int64_t cells = int64_t{1} << shown.view.level;
    return fmt::format(
        "{}{}{}", cells == 1 ? std::string("cell by cell") : fmt::format("{0} × {0} cells per pixel", cells),
        shown.isWhole() ? std::string()
                        : fmt::format(", {} % exact", exact * 100 / std::max<int64_t>(shown.view.rows, 1)),
        model_ && model_->hasChangedPattern() ? "  ·  pattern changed" : "");
}

LongPatternRegion LongPattern::viewOf(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) const {
    int level = 0; // a pixel of the view is at most as large as one of the screen
    while (level < LensBand::kMostLevel && static_cast<float>(2 << level) * cellPixels <= 1) ++level;
    const auto span = [&](std::pair<int, int> range) {
        return (((range.second - 1) >> level) - (range.first >> level)) + 1;
    };
    while (level < LensBand::kMostLevel && std::max(span(queries), span(keys)) > LongPatternRegion::kMostSide) ++level;
    return {.head = subject_.head(),
            .level = level,
            .row = queries.first >> level,
            .column = keys.first >> level,
            .rows = std::clamp(span(queries), 1, LongPatternRegion::kMostSide),
            .columns = std::clamp(span(keys), 1, LongPatternRegion::kMostSide)};
}

bool LongPattern::isReady(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) {
    follow();
    return isDrawn_ && viewOf(queries, keys, cellPixels) == longPattern_->picture().view &&
           longPattern_->picture().isWhole();
}

const DevicePixels& LongPattern::pixels(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) {
    if (isReady(queries, keys, cellPixels)) return pixels_;
    const LongPatternRegion view = viewOf(queries, keys, cellPixels);
    const bool isOther = view != longPattern_->picture().view;
    if (isOther) longPattern_->show(view);
    if (!isOther || view.level == 0) longPattern_->work(kFrameMs); // otherwise show the coarse view first
    const LongPatternPicture& shown = longPattern_->picture();
    std::vector<float> seen;
    std::ranges::copy_if(shown.pixels, std::back_inserter(seen), [](float pixel) { return pixel > 0; });
    if (!seen.empty()) {
        const auto at = seen.begin() + static_cast<std::ptrdiff_t>(seen.size() * 199 / 200);
        std::ranges::nth_element(seen, at);
        largest_ = *at;
    }
    const auto cells = [&](int64_t pixel) { return static_cast<int>(pixel << view.level); };
    pixels_ = {.buffer = longPattern_->devicePixels().get(),
               .byteOffset = 0,
               .byteSize = sizeof(float) * static_cast<size_t>(view.rows) * LongPatternRegion::kMostSide,
               .rowStride = LongPatternRegion::kMostSide,
               .rows = view.rows,
               .columns = view.columns,
               .rowBegin = cells(view.row),
               .rowEnd = cells(view.row + view.rows),
               .columnBegin = cells(view.column),
               .columnEnd = cells(view.column + view.columns)};
    isDrawn_ = true;
    return pixels_;
}

float LongPattern::probability(const Cell& cell) {
    follow();
    return reading_.at({cell, subject_.layer(), subject_.head(), version_},
                       [&] { return longPattern_->cell(subject_.head(), cell.query, cell.key); });
}

} // namespace attn::scope
