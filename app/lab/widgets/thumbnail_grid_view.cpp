#include "app/lab/widgets/thumbnail_grid_view.h"

#include "app/figures/drawing.h"
#include "app/lab/widgets/arrow_step.h"
#include "app/lab/widgets/tool_tip.h"

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
    figure_.hovered.reset();
    setAccessibleDescription(figure_.isEmpty() ? emptyText_ : describe(figure_.selected));
    if (minimumSizeHint() != smallest) updateGeometry();
    update();
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
    return static_cast<int>(std::ceil(figureLayout().origin.width() * devicePixelRatioF()));
}

QSize ThumbnailGridView::minimumSizeHint() const { return figure_.smallestSize(theme_).toSize(); }

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
    const auto choice = figure_.choiceAt(event->position(), figureLayout());
    if (choice == figure_.hovered) return;
    figure_.hovered = choice;
    setCursor(choice ? Qt::PointingHandCursor : Qt::ArrowCursor);
    update();
}

void ThumbnailGridView::leaveEvent(QEvent*) {
    figure_.hovered.reset();
    update();
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

bool ThumbnailGridView::event(QEvent* event) {
    const auto textAt = [this](const QPoint& point) {
        const auto choice = figure_.choiceAt(point, figureLayout());
        return choice
                   ? tr("%1. Click to open it. The strip below is the row of %2.").arg(describe(*choice), readoutToken_)
                   : QString();
    };
    return showTip(this, event, textAt) || QWidget::event(event);
}

} // namespace attn
