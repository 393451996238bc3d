#include "app/lab/widgets/lines_view.h"

#include "app/figures/drawing.h"

#include <QKeyEvent>
#include <QMouseEvent>

#include <algorithm>

namespace attn {

LinesView::LinesView(QWidget* parent) : FigureView(parent, {260, 180}) {
    setAccessibleName(tr("Plot"));
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
}

void LinesView::setFigure(LinesFigure figure) {
    figure.hovered = figure_.hovered && *figure_.hovered < figure.places() ? figure_.hovered : std::nullopt;
    figure_ = std::move(figure);
    setAccessibleName(tr("Plot: %1").arg(figure_.title));
    describe();
    update();
}

/// Tells screen readers the values at the place under the pointer.
void LinesView::describe() {
    const QString reading = this->reading();
    if (figure_.isEmpty())
        setAccessibleDescription(figure_.note.isEmpty() ? tr("Nothing to show yet.") : figure_.note);
    else
        setAccessibleDescription(reading.isEmpty() ? figure_.note : reading);
}

void LinesView::setLinked(std::optional<int> index) {
    if (index && *index >= figure_.places()) index.reset();
    change(figure_.hovered, index);
    describe();
}

QString LinesView::reading() const {
    if (!figure_.hovered) return {};
    QStringList values;
    for (const LinesFigure::Line& line : figure_.lines) {
        const auto place = static_cast<size_t>(*figure_.hovered);
        if (place >= line.values.size()) continue;
        const QString value = formatShort(static_cast<double>(line.values[place]), 5);
        values << (figure_.lines.size() == 1 ? value : QStringLiteral("%1 %2").arg(line.label, value));
    }
    return tr("%1: %2 %3: %4")
        .arg(figure_.title, figure_.placeTitle, figure_.placeText(*figure_.hovered), values.join(QStringLiteral(", ")));
}

void LinesView::point(std::optional<int> index) {
    if (index == figure_.hovered) return;
    setLinked(index);
    emit pointedAt(index);
}

void LinesView::mouseMoveEvent(QMouseEvent* event) { point(figure_.indexAt(event->position(), figureLayout())); }

void LinesView::leaveEvent(QEvent*) { point({}); }

void LinesView::keyPressEvent(QKeyEvent* event) {
    const int by = event->key() == Qt::Key_Left ? -1 : event->key() == Qt::Key_Right ? 1 : 0;
    if (by == 0 || figure_.isEmpty()) return QWidget::keyPressEvent(event);
    point(std::clamp(figure_.hovered.value_or(-by) + by, 0, figure_.places() - 1));
}

} // namespace attn
