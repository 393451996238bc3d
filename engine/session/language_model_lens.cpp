#include "engine/session/head_profiler.h"

#include "engine/session/edit_state.h"
#include "engine/session/language_model.h"
#include "engine/session/lens_thumbnails.h"
#include "engine/session/view_graph.h"

#include <fmt/format.h>

#include <algorithm>

// Patterns of many tokens, by the long-pattern view.

namespace attn {
namespace {

constexpr size_t kMostFormed = 128;  ///< largest number of tokens for thumbnails of all heads in one run
constexpr size_t kMostAtOnce = 1024; ///< largest number of tokens for an exact picture in one run

} // namespace

/// The views of many tokens: one head in detail, and thumbnails of all heads.
struct LanguageModel::Lenses {
    std::unique_ptr<AttentionLens> head;
    int layer = 0;                      ///< layer of `head`
    std::optional<SetViewCommand> view; ///< the view that `head` shows; no value: none
    std::unique_ptr<LensThumbnails> all;
    bool showsAll = false;
    std::unique_ptr<HeadProfiler> profiler;
    int profiledLayer = 0; ///< layer of `profiler`
    bool showsProfile = false;
    size_t headKnows = 0, allKnow = 0; ///< number of leading tokens that did not change since the last view
};

bool LanguageModel::drawsThumbnailsByLens(bool hidesFirst) const {
    const bool isByHand = !isBypassed_ && !edits_->hooks.patterns().empty();
    return (tokens_.size() > kMostFormed || hidesFirst || isByHand) && !isComposed();
}

bool LanguageModel::isByHand(int layer, int head) const {
    return !isBypassed_ && edits_->hooks.patterns().contains({layer, head});
}

bool LanguageModel::needsLens() const { return tokens_.size() > kMostAtOnce && !isComposed(); }

bool LanguageModel::drawsByLens(const SetViewCommand& view) const {
    return (needsLens() || view.hidesFirst || isByHand(view.layer, view.head)) && !isComposed() &&
           view.aggregate == HeadAggregate::None;
}

LensSource LanguageModel::lensSource(int layer) const {
    LensSource source = attn::lensSource(config(), capacity_, layer);
    source.byHand = [this, layer](int head, int64_t query) { return rowByHand(layer, head, static_cast<int>(query)); };
    return source;
}

void LanguageModel::forgetInLenses(size_t from) {
    if (!lenses_) return;
    lenses_->headKnows = std::min(lenses_->headKnows, from);
    lenses_->allKnow = std::min(lenses_->allKnow, from);
    lenses_->view.reset();
    lenses_->showsAll = lenses_->showsProfile = false;
}

AttentionLens& LanguageModel::lensOf(int layer) {
    if (!lenses_->head || lenses_->layer != layer) {
        lenses_->head = std::make_unique<AttentionLens>(*context_, *kernels_, *store_, lensSource(layer));
        lenses_->layer = layer;
        lenses_->headKnows = 0;
    }
    const size_t count = tokens_.size();
    if (lenses_->head->tokens() != static_cast<int64_t>(count) || lenses_->headKnows < count)
        lenses_->head->setTokens(static_cast<int64_t>(count), static_cast<int64_t>(lenses_->headKnows));
    lenses_->headKnows = count;
    return *lenses_->head;
}

PatternTile LanguageModel::beginTile(const SetViewCommand& request) {
    if (lenses_) lenses_->view.reset();
    if (tokens_.empty() || !drawsByLens(boundedView(request))) return patternTile(request);
    if (!lenses_) lenses_ = std::make_shared<Lenses>();
    const SetViewCommand view = boundedView(request);
    const int most = std::min(view.detailSize, LensView::kMostSide);
    int level = 0;
    const auto pixels = [&](int begin, int end) { return ((end - 1) >> level) - (begin >> level) + 1; };
    while (std::max(pixels(view.queryBegin, view.queryEnd), pixels(view.keyBegin, view.keyEnd)) > most &&
           level < LensBand::kMostLevel)
        ++level;
    lensOf(view.layer)
        .show({.head = view.head,
               .level = level,
               .row = view.queryBegin >> level,
               .column = view.keyBegin >> level,
               .rows = std::min(pixels(view.queryBegin, view.queryEnd), most),
               .columns = std::min(pixels(view.keyBegin, view.keyEnd), most),
               .hidesFirst = view.hidesFirst});
    lenses_->view = view;
    while (!needsLens() && lenses_->head->work(1000)) {
    }
    return *refinedTile();
}

PatternGrid LanguageModel::beginGrid(int size, bool hidesFirst) {
    if (lenses_) lenses_->showsAll = false;
    hidesFirst = hidesFirst && static_cast<int>(tokens_.size()) > std::clamp(size, 8, 256); // limits of boundedView()
    if (!drawsThumbnailsByLens(hidesFirst) || tokens_.empty() || size <= 0) return patternGrid(size, hidesFirst);
    if (!lenses_) lenses_ = std::make_shared<Lenses>();
    size = std::clamp(size, 8, 256);
    if (!lenses_->all || lenses_->all->size() != size) {
        std::vector<LensSource> layers;
        for (int layer = 0; layer < info_.layers; ++layer) layers.push_back(lensSource(layer));
        lenses_->all = std::make_unique<LensThumbnails>(*context_, *kernels_, *store_, std::move(layers), size);
        lenses_->allKnow = 0;
    }
    lenses_->all->show(static_cast<int64_t>(tokens_.size()), static_cast<int64_t>(lenses_->allKnow), needsLens(),
                       hidesFirst);
    lenses_->allKnow = tokens_.size();
    lenses_->showsAll = needsLens();
    while (!lenses_->showsAll && lenses_->all->work(1000)) {
    }
    return lenses_->all->grid();
}

HeadProfile LanguageModel::beginProfile(int layer, int head) {
    if (lenses_) lenses_->showsProfile = false;
    if (tokens_.empty()) return {};
    layer = std::clamp(layer, 0, info_.layers - 1);
    head = std::clamp(head, 0, info_.heads - 1);
    if (isComposed()) {
        HeadProfile profile = composedProfile(layer, head);
        profile.isByHand = isByHand(layer, head);
        return profile;
    }
    if (!lenses_) lenses_ = std::make_shared<Lenses>();
    if (!lenses_->profiler || lenses_->profiledLayer != layer) {
        lenses_->profiler = std::make_unique<HeadProfiler>(*context_, *kernels_, *store_, lensSource(layer));
        lenses_->profiledLayer = layer;
    }
    const auto count = static_cast<int64_t>(tokens_.size());
    lenses_->profiler->begin(layer, head, count, {.queryBegin = 1, .queryEnd = count, .keyBegin = 0, .keyEnd = count});
    lenses_->showsProfile = true;
    return *refinedProfile();
}

bool LanguageModel::refine(double milliseconds) {
    if (!lenses_) return false;
    if (lenses_->view && lenses_->head->work(milliseconds)) return true;
    if (lenses_->showsProfile && lenses_->profiler->work(milliseconds)) return true;
    return lenses_->showsAll && lenses_->all->work(milliseconds);
}

std::optional<PatternTile> LanguageModel::refinedTile() const {
    if (!lenses_ || !lenses_->view) return {};
    const LensPicture& picture = lenses_->head->picture();
    const LensView& view = picture.view;
    const auto token = [&](int64_t pixel) { return static_cast<int>(pixel << view.level); };
    const auto exact = std::ranges::count_if(picture.isExact, [](uint8_t row) { return row != 0; });
    return PatternTile{.layer = lenses_->layer,
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
    if (!lenses_ || !lenses_->showsProfile) return {};
    HeadProfile profile = lenses_->profiler->profile();
    profile.isByHand = isByHand(profile.layer, profile.head);
    return profile;
}

std::optional<PatternGrid> LanguageModel::refinedGrid() const {
    if (!lenses_ || !lenses_->showsAll) return {};
    return lenses_->all->grid();
}

} // namespace attn
