#include "app/lab/widgets/patch_overlay_view.h"

#include "app/lab/widgets/arrow_step.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <utility>

namespace attn {

PatchOverlayView::PatchOverlayView(QWidget* parent) : FigureView(parent, {420, 420}, {140, 140}) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Where a patch looks"));
    setToolTip(tr("Point at a patch to see where it looks. Click a patch, or press the arrow keys, to choose it"));
}

void PatchOverlayView::setFigure(PatchOverlayFigure figure) {
    figure_ = std::move(figure);
    if (!figure_.isEmpty() || !figure_.note.isEmpty())
        setAccessibleDescription(figure_.title + QStringLiteral(". ") + figure_.note);
    update();
}

void PatchOverlayView::setHiding(bool hides) {
    hides_ = hides;
    setCursor(hides ? Qt::CrossCursor : Qt::ArrowCursor);
}

QRectF PatchOverlayView::patchRect(int patch) const {
    return figureLayout().patchRect(patch, figure_.columns(), figure_.rows());
}

std::optional<int> PatchOverlayView::patchAt(const QPointF& point) const {
    return figure_.patchAt(point, figureLayout());
}

void PatchOverlayView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    figure_.paint(painter, rect(), shownTheme());
    if (!hasFocus()) return;
    painter.setPen(QPen(theme_.accent, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

void PatchOverlayView::mousePressEvent(QMouseEvent* event) {
    const auto patch = patchAt(event->position());
    if (event->button() != Qt::LeftButton || !patch) return;
    if (!hides_) {
        emit chosen(*patch);
        return;
    }
    isCrossing_ = true;
    last_ = patch;
    emit crossed(*patch, true);
}

void PatchOverlayView::mouseDoubleClickEvent(QMouseEvent* event) {
    mousePressEvent(event); // undoes the choice of the first click
    if (event->button() == Qt::LeftButton && !hides_) emit activated();
}

void PatchOverlayView::mouseMoveEvent(QMouseEvent* event) {
    const auto patch = patchAt(event->position());
    if (isCrossing_ && patch && patch != last_) {
        last_ = patch;
        emit crossed(*patch, false);
    }
    if (!isCrossing_) emit pointedAt(patch);
}

void PatchOverlayView::mouseReleaseEvent(QMouseEvent*) {
    if (std::exchange(isCrossing_, false)) emit crossingEnded();
}

void PatchOverlayView::leaveEvent(QEvent*) { emit pointedAt({}); }

void PatchOverlayView::keyPressEvent(QKeyEvent* event) {
    if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && !hides_) return emit activated();
    const int rows = figure_.rows(), columns = figure_.columns();
    const auto key = arrowStep(*event);
    if (figure_.isEmpty() || !key) return QWidget::keyPressEvent(event);
    const ArrowStep step = figure_.marked ? *key : ArrowStep{}; // the first key goes to the first patch
    const int from = figure_.marked.value_or(0);
    const int row = std::clamp(from / columns + step.down, 0, rows - 1),
              column = std::clamp(from % columns + step.right, 0, columns - 1);
    emit chosen(row * columns + column);
}

} // namespace attn
