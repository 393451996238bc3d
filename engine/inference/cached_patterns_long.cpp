#include "engine/inference/cached_patterns.h"
#include "engine/inference/language_model.h"

#include <algorithm>
#include <bit>

// Patterns of many tokens, by the long-pattern view.

namespace attn {
namespace {

constexpr size_t kMostFormed = 128;  ///< largest number of tokens for thumbnails of all heads in one run
constexpr size_t kMostAtOnce = 1024; ///< largest number of tokens for an exact picture in one run

} // namespace

bool CachedPatterns::drawsLongThumbnails(bool hidesFirst) const {
    const bool hasChangedPattern = !model_.isBypassed() && !model_.hookChanges().patterns().empty();
    return (model_.tokens().size() > kMostFormed || hidesFirst || hasChangedPattern);
}

bool CachedPatterns::needsLongView() const { return model_.tokens().size() > kMostAtOnce; }

bool CachedPatterns::drawsLong(const PatternRequest& view) const {
    return (needsLongView() || view.hidesFirst || hasChangedPattern(view.site, view.head)) &&
           view.aggregate == HeadAggregate::None;
}

void CachedPatterns::tokensChange(size_t from) {
    gridTokens_.resize(std::min(gridTokens_.size(), from)); // the same tokens may have other bits now
    longValid_ = std::min(longValid_, from);
    thumbnailsValid_ = std::min(thumbnailsValid_, from);
    longTile_.reset();
    showsThumbnails_ = showsProfile_ = false;
}

LongPatternView& CachedPatterns::longViewOf(int layer) {
    if (!long_ || longSite_ != layer) {
        long_.reset(); // its states may lie elsewhere even if the new one finds no room
        long_ = std::make_unique<LongPatternView>(model_.device(), model_.store(), model_.longPatternSource(layer));
        longSite_ = layer;
        longValid_ = 0;
    }
    const size_t count = model_.tokens().size();
    if (long_->tokens() != static_cast<int64_t>(count) || longValid_ < count)
        long_->setTokens(static_cast<int64_t>(count), static_cast<int64_t>(longValid_));
    longValid_ = count;
    return *long_;
}

PatternTile CachedPatterns::beginTile(const PatternRequest& request) {
    longTile_.reset();
    if (model_.tokens().empty() || !drawsLong(bounded(request))) return tile(request);
    const PatternRequest view = bounded(request);
    const auto leastSide = [](int cells) { return ((cells - 1) >> LensBand::kMostLevel) + 2; }; // from any cell on
    const int most = std::clamp(std::max(view.detailSize, std::max(leastSide(view.queryEnd - view.queryBegin),
                                                                   leastSide(view.keyEnd - view.keyBegin))),
                                1, LongPatternRegion::kMostSide);
    int level = 0;
    const auto pixels = [&](int begin, int end) { return ((end - 1) >> level) - (begin >> level) + 1; };
    while (std::max(pixels(view.queryBegin, view.queryEnd), pixels(view.keyBegin, view.keyEnd)) > most &&
           level < LensBand::kMostLevel)
        ++level;
    longViewOf(view.site).show({.head = view.head,
                                .level = level,
                                .row = view.queryBegin >> level,
                                .column = view.keyBegin >> level,
                                .rows = std::min(pixels(view.queryBegin, view.queryEnd), most),
                                .columns = std::min(pixels(view.keyBegin, view.keyEnd), most),
                                .hidesFirst = view.hidesFirst});
    longTile_ = view;
    while (!needsLongView() && long_->work(1000)) {
    }
    return *refinedTile();
}

PatternGrid CachedPatterns::beginGrid(int size, bool hidesFirst) {
    showsThumbnails_ = false;
    hidesFirst =
        hidesFirst && static_cast<int>(model_.tokens().size()) > std::clamp(size, 8, 256); // limits of bounded()
    if (!drawsLongThumbnails(hidesFirst) || model_.tokens().empty() || size <= 0) return grid(size, hidesFirst);
    const auto least = std::bit_ceil(((model_.tokens().size() - 1) >> LensBand::kMostLevel) + 1);
    size = std::max(std::clamp(size, 8, 256), static_cast<int>(least)); // a pixel has its largest number of cells
    if (!thumbnails_ || thumbnails_->size() != size) {
        std::vector<LongPatternSource> layers;
        for (int layer = 0; layer < model_.info().siteCount(); ++layer)
            layers.push_back(model_.longPatternSource(layer));
        thumbnails_ = std::make_unique<LongPatternThumbnails>(model_.device(), model_.store(), std::move(layers), size);
        thumbnailsValid_ = 0;
    }
    thumbnails_->show(static_cast<int64_t>(model_.tokens().size()), static_cast<int64_t>(thumbnailsValid_),
                      needsLongView(), hidesFirst);
    thumbnailsValid_ = model_.tokens().size();
    showsThumbnails_ = needsLongView();
    while (!showsThumbnails_ && thumbnails_->work(1000)) {
    }
    return thumbnails_->grid();
}

HeadProfile CachedPatterns::beginProfile(int layer, int head) {
    showsProfile_ = false;
    if (model_.tokens().empty()) return {};
    layer = std::clamp(layer, 0, model_.info().siteCount() - 1);
    head = std::clamp(head, 0, model_.info().heads - 1);
    if (!profiler_ || profiledSite_ != layer) {
        profiler_ = std::make_unique<HeadProfiler>(model_.device(), model_.store(), model_.longPatternSource(layer));
        profiledSite_ = layer;
    }
    const auto count = static_cast<int64_t>(model_.tokens().size());
    profiler_->begin(layer, head, count, {.queryBegin = 1, .queryEnd = count, .keyBegin = 0, .keyEnd = count});
    showsProfile_ = true;
    return *refinedProfile();
}

bool CachedPatterns::refine(double milliseconds) {
    if (longTile_ && long_->work(milliseconds)) return true;
    if (showsProfile_ && profiler_->work(milliseconds)) return true;
    return showsThumbnails_ && thumbnails_->work(milliseconds);
}

std::optional<PatternTile> CachedPatterns::refinedTile() const {
    if (!longTile_) return {};
    const LongPatternPicture& picture = long_->picture();
    const LongPatternRegion& view = picture.view;
    const auto token = [&](int64_t pixel) { return static_cast<int>(pixel << view.level); };
    const auto exact = std::ranges::count_if(picture.isExact, [](uint8_t row) { return row != 0; });
    return PatternTile{.site = longSite_,
                       .head = view.head,
                       .rows = view.rows,
                       .columns = view.columns,
                       .queryBegin = token(view.row),
                       .queryEnd = token(view.row + view.rows),
                       .keyBegin = token(view.column),
                       .keyEnd = token(view.column + view.columns),
                       .exactRows = static_cast<float>(exact) / static_cast<float>(view.rows),
                       .leavesOutFirst = view.hidesFirst,
                       .values = picture.pixels};
}

std::optional<HeadProfile> CachedPatterns::refinedProfile() const {
    if (!showsProfile_) return {};
    HeadProfile profile = profiler_->profile();
    profile.hasChangedPattern = hasChangedPattern(profile.site, profile.head);
    return profile;
}

std::optional<PatternGrid> CachedPatterns::refinedGrid() const {
    if (!showsThumbnails_) return {};
    return thumbnails_->grid();
}

} // namespace attn
