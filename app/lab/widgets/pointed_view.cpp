#include "app/lab/widgets/pointed_view.h"

#include "app/lab/widgets/arrow_step.h"

#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

namespace attn {

PointedView::PointedView(const QString& name, QWidget* parent) : FigureWidget(parent) {
    setAccessibleName(name);
    setAccessibleDescription(tr("Nothing to show yet."));
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
}

void PointedView::setFigure(std::unique_ptr<PointedFigure> figure) {
    const auto kept = [&](std::optional<int> item) { return item && *item < figure->items() ? item : std::nullopt; };
    if (figure_ && !figure->hovered) figure->hovered = kept(figure_->hovered);
    if (figure_ && !figure->chosen) figure->chosen = kept(figure_->chosen);
    figure_ = std::move(figure);
    describe();
    update();
}

std::shared_ptr<const Figure> PointedView::drawn() const { return figure_ ? figure_->copy() : nullptr; }

void PointedView::setTheme(const FigureTheme& theme) {
    theme_ = theme;
    update();
}

void PointedView::setChosen(std::optional<int> item) {
    if (!figure_ || item == figure_->chosen) return;
    figure_->chosen = item;
    describe();
    update();
}

void PointedView::describe() {
    const auto item = figure_->hovered ? figure_->hovered : figure_->chosen;
    if (figure_->items() == 0)
        setAccessibleDescription(tr("Nothing to show yet."));
    else
        setAccessibleDescription(item && *item < figure_->items() ? figure_->reading(*item)
                                                                  : tr("Press an arrow key to read an item."));
}

void PointedView::point(std::optional<int> item) {
    if (!figure_ || item == figure_->hovered) return;
    figure_->hovered = item;
    describe();
    update();
    emit pointedAt(item);
}

void PointedView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!figure_) return painter.fillRect(rect(), theme_.background);
    figure_->paint(painter, rect(), theme_);
    if (!hasFocus()) return;
    painter.setPen(QPen(theme_.accent, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

void PointedView::mousePressEvent(QMouseEvent* event) {
    const auto item = figure_ ? figure_->itemAt(event->position(), rect(), theme_) : std::nullopt;
    if (event->button() == Qt::LeftButton && item) emit chosen(*item);
}

void PointedView::mouseDoubleClickEvent(QMouseEvent* event) {
    const auto item = figure_ ? figure_->itemAt(event->position(), rect(), theme_) : std::nullopt;
    if (event->button() == Qt::LeftButton && item) emit activated(*item);
}

void PointedView::mouseMoveEvent(QMouseEvent* event) {
    const auto item = figure_ ? figure_->itemAt(event->position(), rect(), theme_) : std::nullopt;
    point(item);
    if (item)
        QToolTip::showText(event->globalPosition().toPoint(), figure_->reading(*item), this);
    else
        QToolTip::hideText();
}

void PointedView::leaveEvent(QEvent*) { point({}); }

void PointedView::keyPressEvent(QKeyEvent* event) {
    const bool activates =
        event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Space;
    if (activates && figure_ && figure_->chosen) return emit activated(*figure_->chosen);
    const auto step = arrowStep(*event);
    if (!step || !figure_ || figure_->items() == 0) return QWidget::keyPressEvent(event);
    const auto from = figure_->chosen;
    emit chosen(from ? figure_->moved(*from, step->right, step->down) : 0);
}

} // namespace attn
