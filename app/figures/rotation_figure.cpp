#include "app/figures/rotation_figure.h"

#include "app/figures/drawing.h"
#include "app/figures/spacing.h"

#include <QFontMetricsF>

#include <algorithm>
#include <cmath>

namespace attn {

void RotationFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    if (isEmpty()) return drawMessage(painter, area, tr("Nothing to show yet."), theme);
    const FigurePage page(painter, area, theme);
    painter.setRenderHint(QPainter::Antialiasing);
    const double gap = spacing::kTight, line = smallLine(theme), width = area.width() - 2 * gap;
    const double head = std::round(theme.lineHeight());
    drawLine(painter, {area.left() + gap, area.top() + gap, width, head}, kAtLeft, title, theme.titleFont(),
             theme.text);
    drawLine(painter, {area.left() + gap, area.top() + gap + head, width, line}, kAtLeft, note, theme.smallFont(),
             theme.faint);
    const QRectF room = area.adjusted(gap, 2 * gap + head + line, -gap, -gap);
    // Choose the number of columns that gives the largest circles.
    const auto count = static_cast<int>(planes.size());
    int columns = 1;
    double best = 0;
    for (int tried = 1; tried <= count; ++tried) {
        const int rows = (count + tried - 1) / tried;
        const double size = std::min(room.width() / tried, room.height() / rows - line);
        if (size > best) {
            best = size;
            columns = tried;
        }
    }
    for (int i = 0; i < count && best > 4; ++i)
        paintPlane(painter, {room.left() + i % columns * best, room.top() + i / columns * (best + line), best, best},
                   planes[static_cast<size_t>(i)], theme);
}

void RotationFigure::paintPlane(QPainter& painter, const QRectF& area, const Plane& plane,
                                const FigureTheme& theme) const {
    const double radius = area.width() / 2 - spacing::kTight;
    const QPointF centre = area.center();
    painter.setPen(QPen(theme.line, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawEllipse(centre, radius, radius);
    painter.drawLine(centre - QPointF(radius, 0), centre + QPointF(radius, 0));
    painter.drawLine(centre - QPointF(0, radius), centre + QPointF(0, radius));
    const size_t places = std::min(plane.x.size(), plane.y.size());
    const double dot = std::clamp(radius / 22, 1.2, theme.size * 0.3);
    for (size_t place = places; place-- > 0;) {
        const QPointF point =
            centre + radius * QPointF(static_cast<double>(plane.x[place]), -static_cast<double>(plane.y[place]));
        const QColor colour =
            QColor(ColourMap::of(ColourMapId::Viridis)
                       .at(static_cast<float>(place) / static_cast<float>(std::max<size_t>(places, 2) - 1)));
        const bool isBeyond = beyond && static_cast<int>(place) >= *beyond;
        painter.setPen(QPen(colour, 1));
        painter.setBrush(isBeyond ? QBrush(Qt::NoBrush) : QBrush(colour));
        painter.drawEllipse(point, dot, dot);
        if (place > 0) continue;
        painter.setPen(QPen(theme.query, theme.size > 14 ? 3 : 2));
        painter.drawLine(centre, point);
    }
    painter.setBrush(Qt::NoBrush);
    drawLine(painter, {area.left(), area.bottom(), area.width(), smallLine(theme)}, Qt::AlignCenter, plane.label,
             theme.smallFont(), theme.faint);
}

QString RotationFigure::csv() const {
    if (isEmpty()) return {};
    QString text = QStringLiteral("plane,place,x,y\r\n");
    for (const Plane& plane : planes)
        for (size_t place = 0; place < std::min(plane.x.size(), plane.y.size()); ++place)
            text += QStringLiteral("%1,%2,%3,%4\r\n")
                        .arg(csvText(plane.label), QString::number(place), csvNumber(plane.x[place]),
                             csvNumber(plane.y[place]));
    return text;
}

std::vector<NumberArray> RotationFigure::numbers() const {
    if (isEmpty()) return {};
    const size_t places = planes.front().x.size();
    NumberArray array{.name = title.toStdString(),
                      .shape = {static_cast<int64_t>(planes.size()), 2, static_cast<int64_t>(places)},
                      .values = {}};
    for (const Plane& plane : planes)
        for (const auto* axis : {&plane.x, &plane.y})
            array.values.insert(array.values.end(), axis->begin(), axis->end());
    return {array};
}

} // namespace attn
