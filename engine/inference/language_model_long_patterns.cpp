#include "engine/inference/head_profiler.h"

#include "engine/inference/language_model.h"
#include "engine/inference/long_pattern_thumbnails.h"
#include "engine/inference/view_graph.h"

#include <fmt/format.h>

#include <algorithm>

// Patterns of many tokens, by the long-pattern view.

namespace attn {
namespace {

constexpr size_t kMostFormed = 128;  ///< largest number of tokens for thumbnails of all heads in one run
constexpr size_t kMostAtOnce = 1024; ///< largest number of tokens for an exact picture in one run

} // namespace

/// The views of many tokens: one head in detail, and thumbnails of all heads.
struct LanguageModel::LongPatterns {
    std::unique_ptr<LongPatternView> head;
    int layer = 0;                      ///< layer of `head`
    std::optional<PatternRequest> view; ///< the view that `head` shows; no value: none
    std::unique_ptr<LongPatternThumbnails> all;
    bool showsAll = false;
    std::unique_ptr<HeadProfiler> profiler;
    int profiledLayer = 0; ///< layer of `profiler`
    bool showsProfile = false;
    size_t headValid = 0, allValid = 0; ///< number of leading tokens that did not change since the last view
};

bool LanguageModel::drawsLongPatternThumbnails(bool hidesFirst) const {
    const bool isByHand = !isBypassed() && !hookEdits().patterns().empty();
    return (tokens_.size() > kMostFormed || hidesFirst || isByHand) && !isComposed();
}

bool LanguageModel::isByHand(int layer, int head) const {
    return !isBypassed() && hookEdits().patterns().contains({layer, head});
}

bool LanguageModel::needsLongPatternView() const { return tokens_.size() > kMostAtOnce && !isComposed(); }

bool LanguageModel::drawsLongPattern(const PatternRequest& view) const {
    return (needsLongPatternView() || view.hidesFirst || isByHand(view.site, view.head)) && !isComposed() &&
           view.aggregate == HeadAggregate::None;
}

LongPatternSource LanguageModel::longPatternSource(int layer) const {
    LongPatternSource source = attn::longPatternSource(config(), capacity_, layer);
    source.byHand = [this, layer](int head, int64_t query) { return rowByHand(layer, head, static_cast<int>(query)); };
    return source;
}

void LanguageModel::invalidateLongPatterns(size_t from) {
    if (!longPatterns_) return;
    longPatterns_->headValid = std::min(longPatterns_->headValid, from);
    longPatterns_->allValid = std::min(longPatterns_->allValid, from);
    longPatterns_->view.reset();
    longPatterns_->showsAll = longPatterns_->showsProfile = false;
}

LongPatternView& LanguageModel::longPatternViewOf(int layer) {
    if (!longPatterns_->head || longPatterns_->layer != layer) {
        longPatterns_->head = std::make_unique<LongPatternView>(*device_, *store_, longPatternSource(layer));
        longPatterns_->layer = layer;
        longPatterns_->headValid = 0;
    }
    const size_t count = tokens_.size();
    if (longPatterns_->head->tokens() != static_cast<int64_t>(count) || longPatterns_->headValid < count)
        longPatterns_->head->setTokens(static_cast<int64_t>(count), static_cast<int64_t>(longPatterns_->headValid));
    longPatterns_->headValid = count;
    return *longPatterns_->head;
}

PatternTile LanguageModel::beginTile(const PatternRequest& request) {
    if (longPatterns_) longPatterns_->view.reset();
    if (tokens_.empty() || !drawsLongPattern(boundedView(request))) return patternTile(request);
    if (!longPatterns_) longPatterns_ = std::make_shared<LongPatterns>();
    const PatternRequest view = boundedView(request);
    const int most = std::min(view.detailSize, LongPatternRegion::kMostSide);
    int level = 0;
    const auto pixels = [&](int begin, int end) { return ((end - 1) >> level) - (begin >> level) + 1; };
    while (std::max(pixels(view.queryBegin, view.queryEnd), pixels(view.keyBegin, view.keyEnd)) > most &&
           level < LensBand::kMostLevel)
        ++level;
    longPatternViewOf(view.site).show({.head = view.head,
                                       .level = level,
                                       .row = view.queryBegin >> level,
                                       .column = view.keyBegin >> level,
                                       .rows = std::min(pixels(view.queryBegin, view.queryEnd), most),
                                       .columns = std::min(pixels(view.keyBegin, view.keyEnd), most),
                                       .hidesFirst = view.hidesFirst});
    longPatterns_->view = view;
    while (!needsLongPatternView() && longPatterns_->head->work(1000)) {
    }
    return *refinedTile();
}

PatternGrid LanguageModel::beginGrid(int size, bool hidesFirst) {
    if (longPatterns_) longPatterns_->showsAll = false;
    hidesFirst = hidesFirst && static_cast<int>(tokens_.size()) > std::clamp(size, 8, 256); // limits of boundedView()
    if (!drawsLongPatternThumbnails(hidesFirst) || tokens_.empty() || size <= 0) return patternGrid(size, hidesFirst);
    if (!longPatterns_) longPatterns_ = std::make_shared<LongPatterns>();
    size = std::clamp(size, 8, 256);
    if (!longPatterns_->all || longPatterns_->all->size() != size) {
        std::vector<LongPatternSource> layers;
        for (int layer = 0; layer < info_.layers; ++layer) layers.push_back(longPatternSource(layer));
        longPatterns_->all = std::make_unique<LongPatternThumbnails>(*device_, *store_, std::move(layers), size);
        longPatterns_->allValid = 0;
    }
    longPatterns_->all->show(static_cast<int64_t>(tokens_.size()), static_cast<int64_t>(longPatterns_->allValid),
                             needsLongPatternView(), hidesFirst);
    longPatterns_->allValid = tokens_.size();
    longPatterns_->showsAll = needsLongPatternView();
    while (!longPatterns_->showsAll && longPatterns_->all->work(1000)) {
    }
    return longPatterns_->all->grid();
}

HeadProfile LanguageModel::beginProfile(int layer, int head) {
    if (longPatterns_) longPatterns_->showsProfile = false;
    if (tokens_.empty()) return {};
    layer = std::clamp(layer, 0, info_.layers - 1);
    head = std::clamp(head, 0, info_.heads - 1);
    if (isComposed()) {
        HeadProfile profile = composedProfile(layer, head);
        profile.isByHand = isByHand(layer, head);
        return profile;
    }
    if (!longPatterns_) longPatterns_ = std::make_shared<LongPatterns>();
    if (!longPatterns_->profiler || longPatterns_->profiledLayer != layer) {
        longPatterns_->profiler = std::make_unique<HeadProfiler>(*device_, *store_, longPatternSource(layer));
        longPatterns_->profiledLayer = layer;
    }
    const auto count = static_cast<int64_t>(tokens_.size());
    longPatterns_->profiler->begin(layer, head, count,
                                   {.queryBegin = 1, .queryEnd = count, .keyBegin = 0, .keyEnd = count});
    longPatterns_->showsProfile = true;
    return *refinedProfile();
}

bool LanguageModel::refine(double milliseconds) {
    if (!longPatterns_) return false;
    if (longPatterns_->view && longPatterns_->head->work(milliseconds)) return true;
    if (longPatterns_->showsProfile && longPatterns_->profiler->work(milliseconds)) return true;
    return longPatterns_->showsAll && longPatterns_->all->work(milliseconds);
}

std::optional<PatternTile> LanguageModel::refinedTile() const {
    if (!longPatterns_ || !longPatterns_->view) return {};
    const LongPatternPicture& picture = longPatterns_->head->picture();
    const LongPatternRegion& view = picture.view;
    const auto token = [&](int64_t pixel) { return static_cast<int>(pixel << view.level); };
    const auto exact = std::ranges::count_if(picture.isExact, [](uint8_t row) { return row != 0; });
    return PatternTile{.site = longPatterns_->layer,
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

std::optional<HeadProfile> LanguageModel::refinedProfile() const {
    if (!longPatterns_ || !longPatterns_->showsProfile) return {};
    HeadProfile profile = longPatterns_->profiler->profile();
    profile.isByHand = isByHand(profile.site, profile.head);
    return profile;
}

std::optional<PatternGrid> LanguageModel::refinedGrid() const {
    if (!longPatterns_ || !longPatterns_->showsAll) return {};
    return longPatterns_->all->grid();
}

} // namespace attn
