#include "app/lab/widgets/matrix_view.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

namespace attn {

MatrixView::MatrixView(QWidget* parent) : QWidget(parent), theme_(FigureTheme::light()) {
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
    setAccessibleDescription(figure_.note);
    update();
}

void MatrixView::setTheme(const FigureTheme& theme) {
    theme_ = theme;
    update();
}

void MatrixView::setSelected(std::optional<MatrixCell> cell) {
    figure_.selected = cell && cell->row < figure_.rows() && cell->column < figure_.columns() ? cell : std::nullopt;
    update();
}

void MatrixView::setLinked(std::optional<MatrixCell> cell) {
    if (cell && (cell->row >= figure_.rows() || cell->column >= figure_.columns())) cell.reset();
    if (cell == figure_.hovered) return;
    figure_.hovered = cell;
    update();
}

void MatrixView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    figure_.hasFocus = hasFocus();
    figure_.paint(painter, rect(), theme_);
}

void MatrixView::point(std::optional<MatrixCell> cell) {
    if (cell == figure_.hovered) return;
    setLinked(cell);
    emit pointedAt(cell);
}

void MatrixView::mouseMoveEvent(QMouseEvent* event) { point(figure_.cellAt(event->position(), figureLayout())); }

void MatrixView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    figure_.selected = figure_.cellAt(event->position(), figureLayout());
    update();
    if (figure_.selected) emit chosen(*figure_.selected);
}

void MatrixView::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton) emit activated();
}

void MatrixView::leaveEvent(QEvent*) { point({}); }

void MatrixView::keyPressEvent(QKeyEvent* event) {
    const auto move = [&](int rows, int columns) {
        if (figure_.isEmpty()) return;
        const MatrixCell from = figure_.selected.value_or(MatrixCell{-rows, -columns});
        const MatrixCell cell{std::clamp(from.row + rows, 0, figure_.rows() - 1),
                              std::clamp(from.column + columns, 0, figure_.columns() - 1)};
        figure_.selected = cell;
        update();
        point(cell);
        emit chosen(cell);
    };
    switch (event->key()) {
    case Qt::Key_Up:
        return move(-1, 0);
    case Qt::Key_Down:
        return move(1, 0);
    case Qt::Key_Left:
        return move(0, -1);
    case Qt::Key_Right:
        return move(0, 1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
        emit activated();
        return;
    default:
        QWidget::keyPressEvent(event);
    }
}

} // namespace attn
