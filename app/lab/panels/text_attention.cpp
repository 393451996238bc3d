#include "app/lab/panels/text_attention.h"

#include "app/figures/difference.h"
#include "app/figures/drawing.h"
#include "app/figures/token_label.h"
#include "app/lab/widgets/arcs_view.h"
#include "app/lab/widgets/cell_view.h"
#include "app/lab/widgets/empty_state.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/widgets/sliding_column.h"
#include "app/lab/widgets/thumbnail_grid_view.h"
#include "app/lab/widgets/token_strip.h"
#include "app/lab/workbench/undo_commands.h"

#include <QButtonGroup>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QToolButton>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

using LookStep = StateStep<AttentionLook, 6>;

/// Width of one head's heatmap. Longer patterns are pooled until the user zooms in.
constexpr int kDetailPixels = PatternRequest{}.detailSize;

constexpr int kExactPixels = 128; ///< tokens up to which arcs of a whole layer and previews of heads are exact

/// Few sizes, so that resizing a window does not ask for new thumbnails with every pixel.
int thumbnailBucket(int pixels) { return pixels <= 32 ? 32 : pixels <= 64 ? 64 : 128; }

} // namespace

void TextAttention::change(AttentionLook next, const QString& text) {
    if (next == look_) return;
    bench_.undoStack().push(new LookStep(
        text,
        [this](AttentionLook look) {
            look.level = look_.level; // the breadcrumbs lead back from a level
            apply(look);
        },
        look_, std::move(next), text, bench_.undoSteps().step()));
}

void TextAttention::apply(const AttentionLook& next) {
    const bool joinsOthers = std::exchange(look_, next).wholeWords != next.wholeWords;
    if (joinsOthers && snapshot_) showPictures();
    if (look_.level == AttentionLevel::OneCell && !bench_.selection().cell && bench_.tokenCount() > 0)
        bench_.selectCell(strongestCell());
    emit changed();
    want();
}

HeadChoice TextAttention::choice() const { return {bench_.selection().site, bench_.selection().head, look_.aggregate}; }

void TextAttention::choose(const HeadChoice& choice) {
    bench_.selectHead(choice.site, choice.head);
    AttentionLook next = look_;
    next.aggregate = choice.aggregate;
    apply(next);
}

void TextAttention::point(const std::optional<HeadChoice>& choice) {
    if (!choice || look_.level == AttentionLevel::AllHeads) grid_->preview(choice);
}

void TextAttention::setAggregate(HeadAggregate aggregate) {
    set(&AttentionLook::aggregate, aggregate, tr("combining heads"));
}

void TextAttention::setColours(ColourMapId colours) {
    set(&AttentionLook::colours, colours, tr("changing the colour map"));
}

void TextAttention::setLevel(AttentionLevel level) {
    if (awaited_) awaited_->first = level;
    if (awaited_ && level == AttentionLevel::OneCell && !bench_.selection().cell) level = AttentionLevel::OneHead;
    AttentionLook next = look_;
    next.level = level;
    apply(next);
}

void TextAttention::setPicture(AttentionPicture picture) {
    if (level() == AttentionLevel::AllHeads) setLevel(AttentionLevel::OneHead); // also for the same picture
    set(&AttentionLook::picture, picture, tr("choosing a view"));
}

QWidget* TextAttention::pictureOfHead() const {
    QWidget* const pages[] = {heatmap_, words_, arcs_, written_};
    return pages[static_cast<size_t>(shownAs())];
}

/// The row of the chosen site from which the model predicts.
int TextAttention::readoutRow() const {
    const ReadoutRows* rows = bench_.snapshot()->readoutRows.get();
    const int last = bench_.queryCount() - 1, site = bench_.selection().site;
    return rows && site < std::ssize(rows->queries) ? std::min(rows->queries[static_cast<size_t>(site)], last) : last;
}

/// The initial cell: the key that the row looks at most.
Cell TextAttention::strongestCell() const {
    const int query = readoutRow(), keys = bench_.keyCount();
    const auto [site, head] = std::pair(bench_.selection().site, bench_.selection().head);
    const ReadoutRows* rows = bench_.snapshot()->readoutRows.get();
    if (!rows || rows->values.empty() || rows->keys < keys || site >= rows->sites || head >= rows->heads)
        return {query, std::min(query, keys - 1)};
    const auto row = rows->values.begin() + static_cast<std::ptrdiff_t>(site * rows->heads + head) * rows->keys;
    return {query, static_cast<int>(std::max_element(row, row + keys) - row)};
}

void TextAttention::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = std::exchange(snapshot_, snapshot);
    const bool isNewModel = !before || before->model != snapshot->model;
    const bool isNewSequence = !before || before->sequence != snapshot->sequence;
    if (isNewModel) {
        if (look_.level == AttentionLevel::OneCell) look_.level = AttentionLevel::OneHead;
        heatmap_->resetZoom();
        if (snapshot->model) chooseWritten();
    }
    if (isNewSequence && snapshot->sequence && awaited_) {
        const auto [level, selection] = *awaited_;
        bench_.select(selection);
        if (bench_.selection() == selection) {
            look_.level = level;
            awaited_.reset();
        }
    }
    if (isNewSequence) {
        // The cell may not be in the new text: its column closes.
        if (look_.level == AttentionLevel::OneCell && !bench_.selection().cell) look_.level = AttentionLevel::OneHead;
        if (hoveredCell_ && (hoveredCell_->query >= bench_.queryCount() || hoveredCell_->key >= bench_.keyCount()))
            hoveredCell_.reset();
    }
    showPictures();
    updateEmptyTexts();
    if (isNewModel || isNewSequence)
        apply(look_);
    else
        emit changed();
}

void TextAttention::showPictures() {
    const OriginalViews* compared = bench_.compared(*snapshot_);
    std::vector<QString> labels;
    for (int site = 0; snapshot_->model && site < snapshot_->model->siteCount(); ++site)
        labels.push_back(bench_.siteLabel(site));
    grid_->setSiteLabels(std::move(labels));
    grid_->setGrid(snapshot_->grid, snapshot_->model ? snapshot_->model->structure.sites.front().keyValueHeads : 0,
                   compared ? compared->grid : nullptr);
    std::vector<float> kept;
    if (const PatternGrid* grid = snapshot_->grid.get(); grid && snapshot_->isChanged)
        for (int at = 0; at < grid->sites * grid->heads; ++at)
            kept.push_back(bench_.shownShare(at / grid->heads, at % grid->heads));
    grid_->setKept(std::move(kept));
    grid_->setReadoutRows(snapshot_->readoutRows, compared ? compared->readoutRows : nullptr);
    // While a new head is being computed, the two patterns may cover different cells.
    const bool isComparable =
        compared && compared->detail && snapshot_->detail && haveSameCells(*snapshot_->detail, *compared->detail);
    const int shown = snapshot_->detail ? snapshot_->detail->site : bench_.selection().site;
    joinWords(shown);
    const std::vector<QString> queries = labelsOf(snapshot_->queries(shown), queryWords()),
                               keys = labelsOf(snapshot_->keys(shown), keyWords());
    heatmap_->setLabels(queries, keys);
    queries_->setLabels(queries);
    queries_->setVisible(isOfTwoTexts());
    strip_->setLabels(keys);
    cell_->setLabels(tokenLabels(snapshot_->queries(shown)), tokenLabels(snapshot_->keys(shown)),
                     bench_.siteLabel(shown));
    heatmap_->setTile(shownTile(snapshot_->detail), static_cast<int>(queries.size()), static_cast<int>(keys.size()),
                      isComparable ? shownTile(compared->detail) : nullptr);
    if (const auto& cell = snapshot_->explanation)
        cell_->setCondition(bench_.conditionOf(cell->site, cell->head),
                            static_cast<double>(bench_.shownShare(cell->site, cell->head)));
    cell_->setExplanation(snapshot_->explanation, compared ? compared->explanation : nullptr);
    showArcs();
}

void TextAttention::want() {
    if (!isOpen()) return bench_.want(this, {});
    const bool showsGrid = isVisible() && look_.level == AttentionLevel::AllHeads,
               showsHead = look_.level != AttentionLevel::AllHeads,
               showsLayer = showsHead && look_.picture == AttentionPicture::Arcs && look_.arcsOfLayer,
               isShort = std::max(bench_.queryCount(), bench_.keyCount()) <= kExactPixels; // a preview shows each cell
    WantedViews wanted{.pattern =
                           {// Other panels need the head itself, unless the aggregate is on screen.
                            .aggregate = showsHead ? look_.aggregate : HeadAggregate::None,
                            .thumbnailSize = (isVisible() && showsLayer) || (showsGrid && isShort) ? kExactPixels
                                             : showsGrid ? thumbnailBucket(grid_->thumbnailPixels())
                                                         : 0,
                            .detail = isVisible() && showsHead,
                            .hidesFirst = look_.scale.hidesFirst},
                       .cell = look_.level == AttentionLevel::OneCell};
    // Ask for a part only if the whole pattern does not fit.
    if (heatmap_->isZoomed() && std::max(bench_.queryCount(), bench_.keyCount()) > kDetailPixels) {
        // Add half a window on each side, so that dragging shows something until the next tile arrives.
        const QRectF around =
            window_.adjusted(-window_.width() / 2, -window_.height() / 2, window_.width() / 2, window_.height() / 2);
        const auto bound = [](double token, int count) {
            return std::clamp(static_cast<int>(std::floor(token)), 0, count);
        };
        wanted.pattern.queryBegin = bound(around.top(), bench_.queryCount());
        wanted.pattern.queryEnd = bound(around.bottom() + 1, bench_.queryCount());
        wanted.pattern.keyBegin = bound(around.left(), bench_.keyCount());
        wanted.pattern.keyEnd = bound(around.right() + 1, bench_.keyCount());
    }
    bench_.want(this, wanted);
}

void TextAttention::resizeEvent(QResizeEvent*) {
    if (isVisible()) want();
}

void TextAttention::restoreView(const QJsonObject& view) {
    auto [look, selection] = attentionFromJson(view, bench_);
    isRestored_ = true;
    bench_.select(selection);
    // The text of the view may not be there yet; a cell of the present one would be asked of it.
    awaited_ = look.level == AttentionLevel::OneCell || selection.row ? std::optional(std::pair(look.level, selection))
                                                                      : std::nullopt;
    if (look.level == AttentionLevel::OneCell && !bench_.selection().cell) look.level = AttentionLevel::OneHead;
    apply(look);
}

void TextAttention::showTools() {
    const QSignalBlocker blockers[] = {QSignalBlocker(scale_), QSignalBlocker(hidesFirst_),
                                       QSignalBlocker(arcsOfLayer_), QSignalBlocker(wholeWords_)};
    scale_->setCurrentIndex(static_cast<int>(look_.scale.kind));
    hidesFirst_->setChecked(look_.scale.hidesFirst);
    wholeWords_->setChecked(look_.wholeWords);
    reset_->setEnabled(!look_.isPlain() || heatmap_->isZoomed());
    const bool showsHead = look_.level != AttentionLevel::AllHeads;
    switch_->setExclusive(showsHead); // none is chosen while all heads are shown
    for (QAbstractButton* button : switch_->buttons()) {
        button->setChecked(showsHead && switch_->id(button) == static_cast<int>(shownAs()));
        button->setVisible(isOpen() &&
                           (writtenPicture() || switch_->id(button) != static_cast<int>(AttentionPicture::Pixels)));
    }
    arcsOfLayer_->setChecked(look_.arcsOfLayer);
    arcsOfLayer_->setVisible(isOpen() && showsHead && look_.picture == AttentionPicture::Arcs);
    for (QWidget* tool : std::initializer_list<QWidget*>{scaleRow_, hidesFirst_, wholeWords_, reset_})
        tool->setVisible(isOpen());
}

void TextAttention::showSettings() {
    showTools();
    if (!isOpen()) return want();
    const ModelInfo* model = snapshot_ ? snapshot_->model.get() : nullptr;
    // The heatmap keeps its title until the requested pattern arrives.
    HeadChoice shown = choice();
    const PatternTile* tile = heatmap_->figure().tile.get();
    if (tile) {
        shown.site = tile->site;
        if (tile->head >= 0) shown = {tile->site, tile->head, HeadAggregate::None};
    }
    const bool isChange = heatmap_->figure().before != nullptr;
    const bool isHead = shown.aggregate == HeadAggregate::None;
    heatmap_->setTitle(headTitle(shown, bench_.siteLabel(shown.site)) +
                       (isHead ? bench_.conditionOf(shown.site, shown.head) : QString()) +
                       (isChange ? tr(", difference in attention") : QString()) + resolutionText(tile));
    // Pixels of several tokens, and what is scaled without the first token, are other numbers.
    cell_->setHeatmap(shown.aggregate,
                      isHead && !isChange && tile && tile->isExact() && !look_.scale.hidesFirst && !joined_);
    heatmap_->setScale(look_.scale);
    heatmap_->setColours(look_.colours);
    heatmap_->setSelected(selectedPlace());
    grid_->setScale(look_.scale);
    grid_->setColours(look_.colours);
    grid_->setSelected(choice());
    const auto formsPattern = [&](int site) {
        return std::ranges::any_of(model->hooks, [pattern = model->site(site).hook("pattern")](
                                                     const std::string& hook) { return hook.starts_with(pattern); });
    };
    bool isPatternless = model && model->siteCount() > 0 && !model->hooks.empty();
    for (int site = 0; isPatternless && site < model->siteCount(); ++site)
        if (look_.level == AttentionLevel::AllHeads || site == shown.site) isPatternless = !formsPattern(site);
    if (isPatternless)
        patternless_->setText(look_.level == AttentionLevel::AllHeads
                                  ? tr("This model has no attention patterns: it mixes the tokens in another way. The "
                                       "lens “Values by token” draws what each layer computes.")
                                  : tr("Layer %1 has no attention pattern: it mixes the tokens in another way. The "
                                       "lens “Values by token” draws what it computes.")
                                        .arg(shown.site));
    const bool isEmpty = model && bench_.tokenCount() == 0 && snapshot_->status.activity == Activity::Idle;
    stack_->setCurrentWidget(isEmpty                                   ? empty_
                             : isPatternless                           ? patternless_
                             : look_.level == AttentionLevel::AllHeads ? static_cast<QWidget*>(gridScroll_)
                                                                       : hero_);
    views_->setCurrentIndex(static_cast<int>(shownAs()));
    cellColumn_->setOpen(look_.level == AttentionLevel::OneCell);
    showArcs();
    showChange();
    showLinks();
}

void TextAttention::showChange() {
    const bool isWanted = bench_.shownRun() == ShownRun::Difference && snapshot_ && snapshot_->isChanged;
    const bool showsGrid = look_.level == AttentionLevel::AllHeads, isShown = showsChange();
    const float range = showsGrid ? grid_->figure().range() : heatmap_->figure().range();
    change_->setText(isShown && range <= kSmallestRange
                         ? tr("Attention unchanged (< %1)").arg(static_cast<double>(kSmallestRange))
                     : isShown ? tr("Changed minus original: red is more attention, blue is less, white is no "
                                    "difference. Full colour is %1.")
                                     .arg(formatNumber(static_cast<double>(range), 2))
                     : snapshot_ && snapshot_->status.activity == Activity::Generating
                         ? tr("This is the changed run. The difference appears when the model stops writing.")
                         : tr("This is the changed run. The difference is being computed."));
    change_->setVisible(isWanted);
    scale_->setEnabled(!isDifference());
}

bool TextAttention::showsChange() const {
    return look_.level == AttentionLevel::AllHeads ? grid_->figure().before() != nullptr
                                                   : heatmap_->figure().before != nullptr;
}

bool TextAttention::isDifference() const {
    return bench_.shownRun() == ShownRun::Difference && snapshot_ && snapshot_->isChanged && showsChange();
}

void TextAttention::showLinks() {
    // The token under the pointer takes precedence over the clicked one.
    const int linked = linkedPlace();
    int query = linked, key = -1;
    if (query < 0 && (shownAs() == AttentionPicture::Text || shownAs() == AttentionPicture::Pixels))
        query = placeOf(readoutRow(), queryWords());
    if (hoveredCell_) {
        query = hoveredCell_->query;
        key = hoveredCell_->key;
    } else if (const auto cell = selectedPlace(); linked < 0 && look_.level == AttentionLevel::OneCell && cell) {
        query = cell->query;
        key = cell->key;
    }
    queries_->setMarks(query, -1);
    strip_->setMarks(isOfTwoTexts() ? -1 : query, key);
    heatmap_->setLinkedToken(hoveredCell_ ? -1 : linked);

    std::vector<float> shades;
    const HeatmapFigure& picture = heatmap_->figure();
    if (look_.level != AttentionLevel::AllHeads && query >= 0 && !picture.isEmpty() && picture.tile->isExact()) {
        shades.resize(picture.keyLabels().size());
        for (int token = 0; token < std::ssize(picture.keyLabels()); ++token) {
            const float value = picture.valueAt({query, token});
            shades[static_cast<size_t>(token)] =
                std::isnan(value) ? 0.0f : std::abs(value); // of a difference: its size
        }
    }
    strip_->setShades(std::move(shades));
    nameWords(query);
    showArcs();
    showWritten(query);
}

void TextAttention::updateEmptyTexts() {
    QString text = tr("Computing attention…");
    if (snapshot_->status.preparesEngine)
        text = tr("Preparing the engine, once. Later starts are faster.");
    else if (snapshot_->status.activity == Activity::Loading)
        text = tr("Loading the model…");
    else if (!snapshot_->model)
        text = tr("Open a model to see its attention: File > Open, or drop a model folder here.");
    grid_->setEmptyText(text);
    heatmap_->setEmptyText(text);
}

AttentionLevel TextAttention::exportedLevel() const {
    const QWidget* focused = window()->focusWidget();
    const bool isHeadMeant = look_.level == AttentionLevel::OneCell && !(focused && cellColumn_->isAncestorOf(focused));
    return isHeadMeant ? AttentionLevel::OneHead : look_.level;
}

QWidget* TextAttention::view() { return look_.level == AttentionLevel::OneCell ? pictureOfHead() : figure(); }

QWidget* TextAttention::figure() {
    QWidget* const views[] = {grid_, pictureOfHead(), cell_};
    return views[static_cast<size_t>(exportedLevel())];
}

const Figure* TextAttention::shownFigure() const {
    const Figure* const head = shownAs() == AttentionPicture::Arcs     ? static_cast<const Figure*>(&arcs_->figure())
                               : shownAs() == AttentionPicture::Pixels ? static_cast<const Figure*>(&written_->figure())
                                                                       : &heatmap_->figure();
    const Figure* const figures[] = {&grid_->figure(), head, &cell_->figure()};
    return figures[static_cast<size_t>(exportedLevel())];
}

} // namespace attn
