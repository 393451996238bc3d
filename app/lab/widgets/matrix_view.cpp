#include "app/lab/widgets/matrix_view.h"

#include "app/figures/map_figure.h"
#include "app/lab/widgets/arrow_step.h"
#include "app/lab/widgets/tool_tip.h"

#include <QKeyEvent>
#include <QMouseEvent>

#include <algorithm>

namespace attn {

MatrixView::MatrixView(QWidget* parent) : FigureView(parent, {260, 220}, {88, 88}) {
    setAccessibleName(tr("Heatmap"));
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
}

void MatrixView::setFigure(MatrixFigure figure) {
    const auto kept = [&](const std::optional<MatrixCell>& cell) {
        return cell && cell->row < figure.rows() && cell->column < figure.columns() ? cell : std::nullopt;
    };
    figure.hovered = kept(figure_.hovered);
    figure.selected = kept(figure_.selected);
    figure_ = std::move(figure);
    setAccessibleName(tr("Heatmap: %1").arg(figure_.title));
    describe();
    update();
}

/// Tells screen readers the cell under the pointer, or else the chosen one, with its value.
void MatrixView::describe() {
    const auto cell = figure_.hovered ? figure_.hovered : figure_.selected;
    const QString whole = !figure_.note.isEmpty() ? figure_.note
                          : figure_.isEmpty()     ? tr("Nothing to show yet.")
                                                  : tr("The arrow keys read its cells.");
    setAccessibleDescription(cell && !figure_.isEmpty() ? readingOf(figure_, *cell) : whole);
}

void MatrixView::setSelected(std::optional<MatrixCell> cell) {
    figure_.selected = cell && cell->row < figure_.rows() && cell->column < figure_.columns() ? cell : std::nullopt;
    describe();
    update();
}

void MatrixView::setLinked(std::optional<MatrixCell> cell) {
    if (cell && (cell->row >= figure_.rows() || cell->column >= figure_.columns())) cell.reset();
    change(figure_.hovered, cell);
    describe();
}

/// The tool tip of a cell is its reading, followed by the tool tip of the whole view.
bool MatrixView::event(QEvent* event) {
    const auto textAt = [this](const QPoint& point) {
        const auto cell = figure_.cellAt(point, figureLayout());
        if (!cell) return toolTip();
        return readingOf(figure_, *cell) + (toolTip().isEmpty() ? QString() : '\n' + toolTip());
    };
    return showTip(this, event, textAt) || FigureView::event(event);
}

void MatrixView::paintEvent(QPaintEvent* event) {
    figure_.hasFocus = hasFocus();
    FigureView::paintEvent(event);
}

void MatrixView::point(std::optional<MatrixCell> cell) {
    if (cell == figure_.hovered) return;
    setLinked(cell);
    emit pointedAt(cell);
}

void MatrixView::mouseMoveEvent(QMouseEvent* event) { point(figure_.cellAt(event->position(), figureLayout())); }

void MatrixView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    setSelected(figure_.cellAt(event->position(), figureLayout()));
    if (figure_.selected) emit chosen(*figure_.selected);
}

void MatrixView::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton) emit activated();
}

void MatrixView::leaveEvent(QEvent*) { point({}); }

void MatrixView::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) return emit activated();
    const auto step = arrowStep(*event);
    if (!step) return QWidget::keyPressEvent(event);
    if (figure_.isEmpty()) return;
    const MatrixCell from = figure_.selected.value_or(MatrixCell{-step->down, -step->right});
    const MatrixCell cell{std::clamp(from.row + step->down, 0, figure_.rows() - 1),
                          std::clamp(from.column + step->right, 0, figure_.columns() - 1)};
    setSelected(cell);
    point(cell);
    emit chosen(cell);
}

} // namespace attn
