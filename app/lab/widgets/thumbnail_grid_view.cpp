#include "app/lab/widgets/thumbnail_grid_view.h"

#include "app/figures/drawing.h"
#include "app/lab/widgets/arrow_step.h"
#include "app/lab/widgets/head_preview.h"

#include <QKeyEvent>
#include <QMouseEvent>

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {
namespace {
constexpr int kGlowMs = 450;
}

ThumbnailGridView::ThumbnailGridView(QWidget* parent)
    : FigureView(parent, {360, 220}), emptyText_(tr("Nothing to show yet.")) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Attention of all heads: layers down, heads across"));
    glow_.setDuration(kGlowMs);
    glow_.setStartValue(1.0);
    glow_.setEndValue(0.0);
    connect(&glow_, &QVariantAnimation::valueChanged, this, [this](const QVariant& value) {
        figure_.glow = value.toDouble();
        update();
    });
}

void ThumbnailGridView::setGrid(const std::shared_ptr<const PatternGrid>& grid, int keyValueHeads,
                                const std::shared_ptr<const PatternGrid>& before) {
    if (grid == figure_.grid() && keyValueHeads == figure_.keyValueHeads && before == figure_.before()) return;
    const QSize smallest = minimumSizeHint();
    figure_.setGrid(grid, before);
    figure_.keyValueHeads = keyValueHeads;
    setAccessibleDescription(figure_.isEmpty() ? emptyText_ : describe(figure_.selected));
    if (minimumSizeHint() != smallest) updateGeometry();
    update();
    if (isByKey_)
        preview(figure_.selected);
    else
        point(pointer_);
}

void ThumbnailGridView::setReadoutRows(const std::shared_ptr<const ReadoutRows>& rows,
                                       const std::shared_ptr<const ReadoutRows>& before) {
    if (rows == figure_.readoutRows && before == figure_.readoutBefore) return;
    figure_.readoutBefore = before;
    const bool isGrown = rows && figure_.readoutRows && rows->keys > figure_.readoutRows->keys;
    figure_.readoutRows = rows;
    if (isGrown && isVisible()) {
        // If tokens follow one another quickly, the light stays on instead of flickering.
        glow_.stop();
        figure_.glow = 1;
        glow_.start();
    }
    update();
}

void ThumbnailGridView::setKept(std::vector<float> kept) {
    if (kept == figure_.kept) return;
    figure_.kept = std::move(kept);
    update();
}

void ThumbnailGridView::setSiteLabels(std::vector<QString> labels) {
    if (labels == figure_.siteLabels) return;
    figure_.siteLabels = std::move(labels);
    updateGeometry();
    update();
}

void ThumbnailGridView::setSelected(const HeadChoice& choice) {
    if (choice == figure_.selected) return;
    figure_.selected = choice;
    setAccessibleDescription(describe(choice));
    update();
}

int ThumbnailGridView::thumbnailPixels() const {
    const QSizeF size = figureLayout().origin.size();
    return static_cast<int>(std::ceil(std::max(size.width(), size.height()) * devicePixelRatioF()));
}

QSize ThumbnailGridView::minimumSizeHint() const { return figure_.smallestSize(leastTheme()).toSize(); }

void ThumbnailGridView::paintEvent(QPaintEvent* event) {
    figure_.hasFocus = hasFocus();
    if (!figure_.isEmpty()) return FigureView::paintEvent(event);
    QPainter painter(this);
    drawMessage(painter, rect(), emptyText_, theme_);
}

void ThumbnailGridView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    if (const auto choice = figure_.choiceAt(event->position(), figureLayout())) {
        choose(*choice);
        emit activated(*choice);
    }
}

void ThumbnailGridView::mouseMoveEvent(QMouseEvent* event) {
    isByKey_ = false;
    const auto before = figure_.hovered;
    point(event->position());
    if (figure_.hovered != before) setCursor(figure_.hovered ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

void ThumbnailGridView::leaveEvent(QEvent*) { point({}); }

void ThumbnailGridView::moveEvent(QMoveEvent*) { point({}); } // another head may lie under the pointer now

void ThumbnailGridView::hideEvent(QHideEvent*) {
    isByKey_ = false;
    point({});
}

void ThumbnailGridView::focusInEvent(QFocusEvent* event) {
    FigureView::focusInEvent(event);
    isByKey_ = event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason;
    if (isByKey_) preview(figure_.selected);
}

void ThumbnailGridView::focusOutEvent(QFocusEvent* event) {
    FigureView::focusOutEvent(event);
    if (std::exchange(isByKey_, false)) preview({});
}

void ThumbnailGridView::point(std::optional<QPointF> pointer) {
    pointer_ = pointer;
    const auto choice = pointer ? figure_.choiceAt(*pointer, figureLayout()) : std::nullopt;
    change(figure_.hovered, choice);
    preview(choice);
}

void ThumbnailGridView::preview(const std::optional<HeadChoice>& choice) {
    if (choice != closed_) closed_.reset();
    if (!choice || choice == closed_ || figure_.isEmpty() || choice->site >= figure_.grid()->sites) {
        if (preview_) preview_->hide();
        return;
    }
    if (!preview_) {
        preview_ = new HeadPreview(*this);
        connect(preview_, &HeadPreview::closeAsked, this, [this] {
            closed_ = isByKey_ ? figure_.selected : figure_.hovered;
            preview(closed_);
        });
    }
    HeatmapFigure head = figure_.heatmap(*choice);
    if (words_) {
        const HeadWords words = words_(*choice);
        head.title =
            headTitle(*choice, figure_.siteLabel(choice->site)) + words.condition + resolutionText(head.tile.get());
        head.setLabels(words.queries, words.keys);
    }
    preview_->showBeside(figure_.thumbnailRect(figureLayout(), choice->site, figure_.columnOf(*choice)).toAlignedRect(),
                         theme_, std::move(head));
}

std::shared_ptr<const Figure> ThumbnailGridView::drawn() const {
    auto figure = std::make_shared<ThumbnailGridFigure>(figure_);
    for (int site = 0; words_ && !figure->isEmpty() && site < figure->grid()->sites; ++site) {
        HeadWords words = words_({.site = site});
        figure->words.push_back({std::move(words.queries), std::move(words.keys)});
    }
    return figure;
}

void ThumbnailGridView::choose(const HeadChoice& choice) {
    if (choice == figure_.selected) return;
    setSelected(choice);
    emit selected(choice);
}

void ThumbnailGridView::move(int layers, int columns) {
    const int layer = std::clamp(figure_.selected.site + layers, 0, figure_.grid()->sites - 1);
    const int column = std::clamp(figure_.columnOf(figure_.selected) + columns, 0, figure_.columns() - 1);
    choose(figure_.choiceOf(layer, column));
    isByKey_ = true;
    preview(figure_.selected);
}

void ThumbnailGridView::keyPressEvent(QKeyEvent* event) {
    if (figure_.isEmpty()) return QWidget::keyPressEvent(event);
    if (const auto step = arrowStep(*event)) return move(step->down, step->right);
    if (event->key() != Qt::Key_Return && event->key() != Qt::Key_Enter) return QWidget::keyPressEvent(event);
    emit activated(figure_.selected);
}

QString ThumbnailGridView::describe(const HeadChoice& choice) const {
    QString head = headTitle(choice, figure_.siteLabel(choice.site));
    if (choice.aggregate != HeadAggregate::None) return head;
    const int heads = figure_.isEmpty() ? 0 : figure_.grid()->heads, groups = figure_.keyValueHeads;
    const auto at = static_cast<size_t>(choice.site * heads + choice.head);
    if (at < figure_.kept.size() && figure_.kept[at] == 0) head += tr(" (removed)");
    if (groups <= 0 || groups >= heads) return head;
    return head +
           tr(", shares its keys and values with the other heads of group %1").arg(choice.head / (heads / groups));
}

} // namespace attn
