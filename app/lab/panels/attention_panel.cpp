#include "app/lab/panels/attention_panel.h"

#include "app/figures/difference.h"
#include "app/figures/drawing.h"
#include "app/figures/token_label.h"
#include "app/lab/common/control_groups.h"
#include "app/lab/common/panel_theme.h"
#include "app/lab/widgets/cell_view.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/thumbnail_grid_view.h"
#include "app/lab/widgets/token_strip.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QPointer>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QStackedWidget>
#include <QToolButton>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr int kDetailPixels = 1024; ///< width of one head's heatmap; longer patterns are pooled until the user zooms in

constexpr int kSharedPixels = 64; ///< width of a pattern for other panels

/// Few sizes, so that resizing a window does not ask for new thumbnails with every pixel.
int thumbnailBucket(int pixels) { return pixels <= 32 ? 32 : pixels <= 64 ? 64 : 128; }

} // namespace

void AttentionPanel::change(AttentionSettings next, const QString& text) {
    if (next == settings_) return;
    const QPointer<AttentionPanel> panel(this);
    const auto applyLater = [panel](const AttentionSettings& settings) {
        if (!panel) return;
        // Undo restores how attention is drawn, but keeps the head and the cell that are selected by now.
        AttentionSettings merged = panel->settings_;
        merged.scale = settings.scale;
        merged.colours = settings.colours;
        merged.choice.aggregate = settings.choice.aggregate;
        panel->apply(merged);
    };
    context_.undoStack().push(new AttentionChange(applyLater, settings_, std::move(next), text));
}

void AttentionPanel::apply(const AttentionSettings& next) {
    settings_ = next;
    if (snapshot_ && snapshot_->model) {
        settings_.choice.site = std::clamp(settings_.choice.site, 0, std::max(0, snapshot_->model->layers - 1));
        settings_.choice.head = std::clamp(settings_.choice.head, 0, std::max(0, snapshot_->model->heads - 1));
        if (settings_.cell && std::max(settings_.cell->query, settings_.cell->key) >= tokenCount())
            settings_.cell.reset();
    }
    if (settings_.level == AttentionLevel::OneCell && !settings_.cell && tokenCount() > 0)
        settings_.cell = strongestCell();
    showSettings();
    postView();
    explainIfStale();
}

void AttentionPanel::choose(const HeadChoice& choice) {
    if (choice == settings_.choice || isChoiceLocked()) return showSettings();
    AttentionSettings next = settings_;
    next.choice = choice;
    apply(next);
    context_.selectHead(settings_.choice.site, settings_.choice.head);
}

void AttentionPanel::setLevel(AttentionLevel level) {
    AttentionSettings next = settings_;
    next.level = level;
    apply(next);
}

void AttentionPanel::selectCell(const Cell& cell) {
    AttentionSettings next = settings_;
    next.cell = cell;
    apply(next);
}

bool AttentionPanel::isChoiceLocked() const { return !tools_->isEnabled() || tools_->isHidden(); }

int AttentionPanel::tokenCount() const {
    return snapshot_ && snapshot_->sequence ? static_cast<int>(snapshot_->sequence->tokens.size()) : 0;
}

/// The initial cell: the key that the newest token attends to most.
Cell AttentionPanel::strongestCell() const {
    const int last = tokenCount() - 1;
    Cell cell{last, last};
    const NewestRows* newest = snapshot_->newest.get();
    if (!newest || newest->keys != tokenCount() || settings_.choice.site >= newest->sites ||
        settings_.choice.head >= newest->heads)
        return cell;
    const auto row =
        newest->values.begin() +
        static_cast<std::ptrdiff_t>(settings_.choice.site * newest->heads + settings_.choice.head) * newest->keys;
    cell.key = static_cast<int>(std::max_element(row, row + newest->keys) - row);
    return cell;
}

void AttentionPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = std::exchange(snapshot_, snapshot);
    const bool isNewModel = !before || before->model != snapshot->model;
    const bool isNewSequence = !before || before->sequence != snapshot->sequence;
    if (isNewModel) {
        settings_.cell.reset();
        if (settings_.level == AttentionLevel::OneCell) settings_.level = AttentionLevel::OneHead;
        heatmap_->resetZoom();
        posted_.reset();
        unanswered_.clear();
    }
    if (isNewSequence) {
        const std::vector<QString> labels = tokenLabels(snapshot->sequence.get());
        heatmap_->setLabels(labels);
        cell_->setLabels(labels);
        strip_->setLabels(labels);
        pinnedToken_ = std::min(pinnedToken_, tokenCount() - 1);
        if (hoveredCell_ && std::max(hoveredCell_->query, hoveredCell_->key) >= tokenCount()) hoveredCell_.reset();
    }
    showPictures();
    if (!before || before->explanation != snapshot->explanation) adoptExplanation();
    updateEmptyTexts();
    if (isNewModel || isNewSequence)
        apply(settings_);
    else {
        showSettings();
        explainIfStale();
    }
}

void AttentionPanel::showPictures() {
    const UneditedViews* compared = context_.compared(*snapshot_);
    grid_->setGrid(snapshot_->grid, snapshot_->model ? snapshot_->model->structure.sites.front().keyValueHeads : 0,
                   compared ? compared->grid : nullptr);
    grid_->setNewest(snapshot_->newest, compared ? compared->newest : nullptr);
    // While a new head is being computed, the two patterns may cover different cells.
    const bool isComparable =
        compared && compared->detail && snapshot_->detail && haveSameCells(*snapshot_->detail, *compared->detail);
    heatmap_->setTile(snapshot_->detail, tokenCount(), isComparable ? compared->detail : nullptr);
    cell_->setExplanation(snapshot_->explanation, compared ? compared->explanation : nullptr);
}

/// Selects a cell that another panel asked about. Answers to this panel's own requests are skipped, because a late one
/// would replace a cell that was selected since.
void AttentionPanel::adoptExplanation() {
    const CellExplanation* explanation = snapshot_->explanation.get();
    if (!explanation || explanation->site != settings_.choice.site || explanation->head != settings_.choice.head)
        return;
    const Cell cell{explanation->query, explanation->key};
    if (const auto own = std::find(unanswered_.begin(), unanswered_.end(), cell); own != unanswered_.end()) {
        unanswered_.erase(unanswered_.begin(), own + 1);
        return;
    }
    unanswered_.clear();
    if (std::max(cell.query, cell.key) >= tokenCount()) return;
    settings_.cell = cell;
    asked_ = CellRequest{explanation->site, explanation->head, cell.query, cell.key};
    askedVersion_ = snapshot_->sequenceVersion;
}

void AttentionPanel::explainIfStale() {
    if (!settings_.cell || !snapshot_ || !snapshot_->model) return;
    // During generation every token would ask again, so only the last one does.
    const Activity activity = snapshot_->status.activity;
    if (activity == Activity::Loading ||
        (activity == Activity::Generating && settings_.level != AttentionLevel::OneCell))
        return;
    const CellRequest wanted{settings_.choice.site, settings_.choice.head, settings_.cell->query, settings_.cell->key};
    const bool isAsked = asked_ && asked_->site == wanted.site && asked_->head == wanted.head &&
                         asked_->query == wanted.query && asked_->key == wanted.key;
    if (isAsked && askedVersion_ == snapshot_->sequenceVersion) return;
    asked_ = wanted;
    askedVersion_ = snapshot_->sequenceVersion;
    unanswered_.push_back(*settings_.cell);
    context_.post(wanted);
}

void AttentionPanel::postView() {
    const bool showsGrid = isVisible() && settings_.level == AttentionLevel::AllHeads;
    const int ownSize = showsGrid ? thumbnailBucket(grid_->thumbnailPixels()) : 0;
    const bool areWanted = context_.arePicturesWanted(); // other panels need them
    PatternRequest view{.site = settings_.choice.site,
                        .head = settings_.choice.head,
                        // Other panels need the head itself, unless the aggregate is on screen.
                        .aggregate = settings_.level == AttentionLevel::OneHead ? settings_.choice.aggregate
                                                                                : HeadAggregate::None,
                        .thumbnailSize = areWanted ? std::max(ownSize, kSharedPixels) : ownSize,
                        .detail = areWanted || (isVisible() && settings_.level == AttentionLevel::OneHead),
                        .detailSize = kDetailPixels,
                        .hidesFirst = settings_.scale.hidesFirst};
    // Ask for a part only if the whole pattern does not fit.
    if (heatmap_->isZoomed() && tokenCount() > kDetailPixels) {
        // Add half a window on each side, so that dragging shows something until the next tile arrives.
        const QRectF around =
            window_.adjusted(-window_.width() / 2, -window_.height() / 2, window_.width() / 2, window_.height() / 2);
        const auto bound = [this](double token) {
            return std::clamp(static_cast<int>(std::floor(token)), 0, tokenCount());
        };
        view.queryBegin = bound(around.top());
        view.queryEnd = bound(around.bottom() + 1);
        view.keyBegin = bound(around.left());
        view.keyEnd = bound(around.right() + 1);
    }
    if (posted_ == view) return;
    posted_ = view;
    context_.post(view);
}

void AttentionPanel::showEvent(QShowEvent* event) {
    Panel::showEvent(event);
    postView();
}

void AttentionPanel::hideEvent(QHideEvent* event) {
    Panel::hideEvent(event);
    postView();
}

void AttentionPanel::resizeEvent(QResizeEvent* event) {
    Panel::resizeEvent(event);
    if (isVisible()) postView();
}

void AttentionPanel::restoreView(const QJsonObject& view) {
    apply(attentionFromJson(view));
    context_.selectHead(settings_.choice.site, settings_.choice.head);
}

void AttentionPanel::showSettings() {
    const ModelInfo* model = snapshot_ ? snapshot_->model.get() : nullptr;
    const QSignalBlocker blockers[] = {QSignalBlocker(layer_), QSignalBlocker(head_),    QSignalBlocker(aggregate_),
                                       QSignalBlocker(scale_), QSignalBlocker(colours_), QSignalBlocker(hidesFirst_)};
    layer_->setRange(0, model ? std::max(0, model->layers - 1) : 0);
    head_->setRange(0, model ? std::max(0, model->heads - 1) : 0);
    layer_->setValue(settings_.choice.site);
    head_->setValue(settings_.choice.head);
    head_->setEnabled(settings_.choice.aggregate == HeadAggregate::None);
    aggregate_->setCurrentIndex(static_cast<int>(settings_.choice.aggregate));
    scale_->setCurrentIndex(static_cast<int>(settings_.scale.kind));
    colours_->setCurrentIndex(static_cast<int>(settings_.colours));
    hidesFirst_->setChecked(settings_.scale.hidesFirst);
    reset_->setEnabled(!settings_.isPlain() || heatmap_->isZoomed());

    const bool hasTokens = tokenCount() > 0;
    QToolButton* const buttons[] = {allButton_, headButton_, cellButton_};
    for (QToolButton* button : buttons) button->setChecked(button == buttons[static_cast<size_t>(settings_.level)]);
    headButton_->setText(headTitle(settings_.choice));
    cellButton_->setEnabled(hasTokens);
    cellButton_->setText(settings_.cell ? tr("Query %1 → key %2").arg(settings_.cell->query).arg(settings_.cell->key)
                                        : tr("One cell"));

    // The heatmap keeps its title until the requested pattern arrives.
    HeadChoice shown = settings_.choice;
    if (const PatternTile* tile = heatmap_->figure().tile.get()) {
        shown.site = tile->site;
        if (tile->head >= 0) shown = {tile->site, tile->head, HeadAggregate::None};
    }
    const bool isChange = heatmap_->figure().before != nullptr;
    heatmap_->setTitle(headTitle(shown) + (isChange ? tr(", difference in attention") : QString()) +
                       resolutionText(heatmap_->figure().tile.get()));
    heatmap_->setScale(settings_.scale);
    heatmap_->setColours(settings_.colours);
    heatmap_->setSelected(settings_.cell);
    grid_->setScale(settings_.scale);
    grid_->setColours(settings_.colours);
    grid_->setSelected(settings_.choice);
    QWidget* const pages[] = {gridScroll_, heatmap_, cellScroll_};
    stack_->setCurrentWidget(pages[static_cast<size_t>(settings_.level)]);
    showChange();
    showLinks();
}

void AttentionPanel::showChange() {
    const bool isWanted = context_.shownRun() == ShownRun::Difference && snapshot_ && snapshot_->isEdited &&
                          settings_.level != AttentionLevel::OneCell;
    const bool showsGrid = settings_.level == AttentionLevel::AllHeads;
    const bool isShown = showsGrid ? grid_->figure().before() != nullptr : heatmap_->figure().before != nullptr;
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
    // Differences have a scale and colours of their own.
    scale_->setEnabled(!isWanted || !isShown);
    colours_->setEnabled(!isWanted || !isShown);
}

void AttentionPanel::showLinks() {
    // The token under the pointer takes precedence over the clicked one.
    const int linked = hoveredToken_ >= 0 ? hoveredToken_ : pinnedToken_;
    int query = linked, key = -1;
    if (hoveredCell_) {
        query = hoveredCell_->query;
        key = hoveredCell_->key;
    } else if (linked < 0 && settings_.level == AttentionLevel::OneCell && settings_.cell) {
        query = settings_.cell->query;
        key = settings_.cell->key;
    }
    strip_->setMarks(query, key);
    heatmap_->setLinkedToken(hoveredCell_ ? -1 : linked);

    std::vector<float> shades;
    const HeatmapFigure& picture = heatmap_->figure();
    const CellExplanation* explanation = snapshot_ ? snapshot_->explanation.get() : nullptr;
    if (settings_.level == AttentionLevel::OneHead && query >= 0 && !picture.isEmpty() && picture.tile->isExact()) {
        shades.resize(static_cast<size_t>(tokenCount()));
        for (int token = 0; token < tokenCount(); ++token) {
            const float value = picture.valueAt({query, token});
            shades[static_cast<size_t>(token)] =
                std::isnan(value) ? 0.0f : std::abs(value); // of a difference: its size
        }
    } else if (settings_.level == AttentionLevel::OneCell && explanation && explanation->query == query) {
        shades = explanation->rowProbabilities;
    }
    strip_->setShades(std::move(shades));
}

void AttentionPanel::updateEmptyTexts() {
    QString text = tr("Computing attention…");
    if (snapshot_->status.activity == Activity::Loading)
        text = tr("Loading the model…");
    else if (!snapshot_->model)
        text = tr("Open a model to see its attention: File > Open, or drop a model folder here.");
    else if (tokenCount() == 0)
        text = tr("Type a prompt in the Generate panel to see where each head looks.");
    grid_->setEmptyText(text);
    heatmap_->setEmptyText(text);
}

QWidget* AttentionPanel::figure() {
    switch (settings_.level) {
    case AttentionLevel::AllHeads:
        return grid_;
    case AttentionLevel::OneHead:
        return heatmap_;
    case AttentionLevel::OneCell:
        break;
    }
    return cell_;
}

const Figure& AttentionPanel::shownFigure() const {
    switch (settings_.level) {
    case AttentionLevel::AllHeads:
        return grid_->figure();
    case AttentionLevel::OneHead:
        return heatmap_->figure();
    case AttentionLevel::OneCell:
        break;
    }
    return cell_->figure();
}

ExportNumbers AttentionPanel::numbers() const { return numbersOf(shownFigure()); }

void AttentionPanel::showTheme() {
    const FigureTheme theme = figureTheme(context_.theme());
    grid_->setTheme(theme);
    heatmap_->setTheme(theme);
    cell_->setTheme(theme);
    strip_->setTheme(theme);
}

} // namespace attn
