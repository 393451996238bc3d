#include "app/lab/widgets/heatmap_view.h"

#include "app/figures/difference.h"
#include "app/figures/drawing.h"
#include "app/lab/widgets/arrow_step.h"
#include "app/lab/widgets/tool_tip.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {
constexpr double kZoomStep = 1.25;
constexpr double kWheelNotch = 120; ///< eighths of a degree, as Qt counts
constexpr double kFewestTokens = 3; ///< shown at the highest zoom
} // namespace

HeatmapView::HeatmapView(QWidget* parent)
    : FigureView(parent, {360, 220}, {160, 140}), emptyText_(tr("Nothing to show yet.")) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Attention heatmap: queries down, keys across"));
}

void HeatmapView::setTile(std::shared_ptr<const PatternTile> tile, int queries, int keys,
                          std::shared_ptr<const PatternTile> before) {
    const bool isSameSize = queries == figure_.queryCount && keys == figure_.keyCount;
    if (tile == figure_.tile && isSameSize && before == figure_.before) return;
    figure_.tile = std::move(tile);
    figure_.before = std::move(before);
    if (!isSameSize) {
        figure_.queryCount = queries;
        figure_.keyCount = keys;
        // A zoomed window shows the same tokens as long as they exist.
        if (!figure_.window.isNull() && !figure_.wholeWindow().contains(figure_.window)) figure_.window = {};
        for (std::optional<Cell>* cell : {&figure_.selected, &figure_.hovered})
            if (*cell && ((*cell)->query >= queries || (*cell)->key >= keys)) cell->reset();
    }
    say();
    update();
}

void HeatmapView::setLabels(std::vector<QString> queries, std::vector<QString> keys) {
    if (queries == figure_.queryLabels() && keys == figure_.keyLabels()) return;
    figure_.setLabels(std::move(queries), std::move(keys));
    say();
    update();
}

void HeatmapView::setTitle(const QString& title) {
    if (title == figure_.title) return;
    figure_.title = title;
    say();
    update();
}

void HeatmapView::setTheme(const FigureTheme& theme) {
    figure_.setLabels(figure_.queryLabels(), figure_.keyLabels()); // label widths depend on the font
    FigureView::setTheme(theme);
}

void HeatmapView::setSelected(std::optional<Cell> cell) {
    if (cell == figure_.selected) return;
    figure_.selected = cell;
    say();
    update();
}

QRectF HeatmapView::visibleWindow() const { return figure_.window.isNull() ? figure_.wholeWindow() : figure_.window; }

void HeatmapView::setWindow(const QRectF& window) {
    const QRectF whole = figure_.wholeWindow();
    QRectF next = window;
    if (!next.isNull()) {
        const double size = std::clamp(next.width(), std::min(kFewestTokens, whole.width()), whole.width());
        next.setSize({size, size});
        next.moveLeft(std::clamp(next.left(), 0.0, whole.width() - size));
        next.moveTop(std::clamp(next.top(), 0.0, whole.height() - size));
        if (size >= whole.width()) next = {};
    }
    if (next == figure_.window) return;
    figure_.window = next;
    update();
    emit windowChanged(visibleWindow());
}

void HeatmapView::zoomAt(const QPointF& point, double factor) {
    if (figure_.isEmpty()) return;
    const QRectF before = visibleWindow();
    const HeatmapFigure::Layout at = figureLayout();
    const QPointF inside(std::clamp(point.x(), at.plot.left(), at.plot.right()),
                         std::clamp(point.y(), at.plot.top(), at.plot.bottom()));
    const QPointF anchor = at.tokensAt(inside);
    const double all = figure_.wholeWindow().width();
    const double size = std::clamp(before.width() / factor, std::min(kFewestTokens, all), all);
    figure_.window = QRectF(anchor.x() - size / 2, anchor.y() - size / 2, size, size);
    // The plot may change with the zoom, because flat labels need less height. The anchor keeps its place in the new
    // plot.
    const HeatmapFigure::Layout next = figureLayout();
    figure_.window = before.width() < all ? before : QRectF();
    const QPointF part((inside.x() - next.plot.left()) / next.plot.width(),
                       (inside.y() - next.plot.top()) / next.plot.height());
    setWindow(QRectF(anchor.x() - part.x() * size, anchor.y() - part.y() * size, size, size));
}

void HeatmapView::paintEvent(QPaintEvent* event) {
    figure_.hasFocus = hasFocus();
    if (!figure_.isEmpty()) return FigureView::paintEvent(event);
    QPainter painter(this);
    drawMessage(painter, rect(), emptyText_, theme_);
}

void HeatmapView::wheelEvent(QWheelEvent* event) {
    const double notches = event->angleDelta().y() / kWheelNotch;
    if (notches != 0) zoomAt(event->position(), std::pow(kZoomStep, notches));
    event->accept();
}

void HeatmapView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    pressedAt_ = event->position();
    windowAtPress_ = visibleWindow();
    isDragging_ = false;
}

void HeatmapView::mouseMoveEvent(QMouseEvent* event) {
    if (pressedAt_ && (event->buttons() & Qt::LeftButton)) {
        const QPointF moved = event->position() - *pressedAt_;
        if (!isDragging_ && moved.manhattanLength() < QApplication::startDragDistance()) return;
        isDragging_ = true;
        if (!isZoomed()) return;
        setCursor(Qt::ClosedHandCursor);
        const HeatmapFigure::Layout at = figureLayout();
        setWindow(windowAtPress_.translated(-moved.x() / at.cellWidth(), -moved.y() / at.cellHeight()));
        return;
    }
    hover(event->position());
}

void HeatmapView::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !pressedAt_) return;
    pressedAt_.reset();
    unsetCursor();
    if (isDragging_) return;
    if (const auto cell = figure_.cellAt(event->position(), figureLayout())) choose(*cell);
}

void HeatmapView::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton) resetZoom();
}

void HeatmapView::leaveEvent(QEvent*) {
    if (!figure_.hovered) return;
    figure_.hovered.reset();
    update();
    emit hoverLeft();
}

void HeatmapView::hover(const QPointF& point) {
    const auto cell = figure_.cellAt(point, figureLayout());
    if (cell == figure_.hovered) return;
    figure_.hovered = cell;
    update();
    if (cell)
        emit hovered(cell->query, cell->key);
    else
        emit hoverLeft();
}

void HeatmapView::choose(const Cell& cell) {
    setSelected(cell);
    emit cellSelected(cell.query, cell.key);
}

void HeatmapView::moveSelection(int queries, int keys) {
    const int lastQuery = figure_.queryCount - 1, lastKey = figure_.keyCount - 1;
    if (lastQuery < 0 || lastKey < 0) return;
    const QRectF window = visibleWindow();
    const Cell first{static_cast<int>(std::ceil(window.top())), static_cast<int>(std::ceil(window.left()))};
    Cell cell = figure_.selected.value_or(first);
    if (figure_.selected)
        cell = {std::clamp(cell.query + queries, 0, lastQuery), std::clamp(cell.key + keys, 0, lastKey)};
    if (cell == figure_.selected) return;
    QRectF next = window;
    next.moveTop(std::clamp(next.top(), cell.query + 1 - next.height(), static_cast<double>(cell.query)));
    next.moveLeft(std::clamp(next.left(), cell.key + 1 - next.width(), static_cast<double>(cell.key)));
    if (isZoomed()) setWindow(next);
    choose(cell);
}

void HeatmapView::keyPressEvent(QKeyEvent* event) {
    if (figure_.isEmpty()) return QWidget::keyPressEvent(event);
    const QPointF middle =
        figure_.selected ? figureLayout().cellRect(*figure_.selected).center() : figureLayout().plot.center();
    if (const auto step = arrowStep(*event)) return moveSelection(step->down, step->right);
    switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        return zoomAt(middle, kZoomStep);
    case Qt::Key_Minus:
        return zoomAt(middle, 1 / kZoomStep);
    case Qt::Key_Home:
        return resetZoom();
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (figure_.selected) emit cellActivated(figure_.selected->query, figure_.selected->key);
        return;
    default:
        QWidget::keyPressEvent(event);
    }
}

QString HeatmapView::describe(const Cell& cell) const {
    const float value = figure_.valueAt(cell);
    const auto named = [](int token, const QString& label) { return tr("“%2” (%1)").arg(token).arg(label); };
    const QString query = named(cell.query, figure_.queryLabelOf(cell.query)),
                  key = named(cell.key, figure_.keyLabelOf(cell.key)), pair = tr("%1 to %2").arg(query, key);
    if (figure_.isMasked(cell)) return tr("%1: masked, the key is after the query").arg(pair);
    if (std::isnan(value)) return figure_.isEmpty() ? pair : tr("%1: hidden").arg(pair);
    if (figure_.before) {
        const QString change = formatSigned(static_cast<double>(value), 4);
        return (figure_.tile->isExact() ? tr("%1: difference %2")
                                        : tr("%1: difference %2 of the largest weights in this pixel"))
            .arg(pair, change);
    }
    const QString amount = formatPercent(static_cast<double>(value), 2);
    const QString sentence =
        figure_.tile->exactRows < 1 ? tr("%1 gives about %3 of its attention to %2 in this pixel, still computing")
        : !figure_.tile->isExact()  ? tr("%1 gives at most %3 of its attention to %2 in this pixel")
        : figure_.scale.hidesFirst  ? tr("%1 gives %2 %3 of the attention that it does not give the first token")
                                    : tr("%1 gives %3 of its attention to %2");
    return sentence.arg(query, key, amount);
}

void HeatmapView::say() {
    if (figure_.isEmpty()) return setAccessibleDescription(emptyText_);
    if (figure_.selected)
        return setAccessibleDescription(QStringLiteral("%1. %2").arg(figure_.title, describe(*figure_.selected)));
    QStringList words;
    for (const QString& label : figure_.queryLabels()) words << label;
    setAccessibleDescription(tr("%1. Press an arrow key to read a cell. %2 tokens: %3")
                                 .arg(figure_.title, QString::number(figure_.queryCount), words.join(' ')));
}

bool HeatmapView::event(QEvent* event) {
    const auto textAt = [this](const QPoint& point) {
        const auto cell = figure_.cellAt(point, figureLayout());
        return cell ? describe(*cell) : QString();
    };
    return showTip(this, event, textAt) || QWidget::event(event);
}

} // namespace attn
