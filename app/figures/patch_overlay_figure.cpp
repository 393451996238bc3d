#include "app/figures/patch_overlay_figure.h"

#include "app/figures/drawing.h"
#include "app/figures/spacing.h"

#include <QFontMetricsF>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr double kSmallestGrid = 6; ///< pixels across a patch; larger patches have lines between them

void frame(QPainter& painter, const QRectF& rect, const QColor& colour, double width) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(Qt::white, width + 2)); // readable on any picture
    painter.drawRect(rect);
    painter.setPen(QPen(colour, width));
    painter.drawRect(rect);
}

} // namespace

void PatchOverlayFigure::setValues(int rows, int columns, std::vector<float> values) {
    rows_ = rows;
    columns_ = columns;
    values_ = std::move(values);
    largest_ = 0;
    for (const float value : values_)
        if (std::isfinite(value)) largest_ = std::max(largest_, std::abs(value));
    if (largest_ == 0) largest_ = 1;
}

QRectF PatchOverlayFigure::Layout::patchRect(int patch, int columns, int rows) const {
    const double width = picture.width() / columns, height = picture.height() / rows;
    return {picture.left() + patch % columns * width, picture.top() + patch / columns * height, width, height};
}

PatchOverlayFigure::Layout PatchOverlayFigure::layout(const QRectF& area, const FigureTheme& theme) const {
    Layout result;
    const double line = std::ceil(QFontMetricsF(theme.smallFont()).height());
    const bool isRoomy = !isBare && area.width() > 14 * theme.size && area.height() > 10 * theme.size;
    const double titleHeight = isRoomy && !title.isEmpty() ? std::round(theme.lineHeight()) : 0;
    const double noteHeight = isRoomy && !note.isEmpty() ? line : 0, barSpace = isRoomy ? 5 * theme.size : 0;
    const double margin = isRoomy ? spacing::kGap : 0, width = area.width() - 2 * margin;
    const double ends = isRoomy ? std::ceil(line / 2) : 0; // the bar's end numbers reach beyond it
    result.title = QRectF(area.left() + margin, area.top() + margin, width, titleHeight);
    const QRectF room(area.left() + margin, area.top() + margin + titleHeight + ends, std::max(8.0, width - barSpace),
                      std::max(8.0, area.height() - 2 * margin - titleHeight - noteHeight - 2 * ends));
    if (!image.isNull()) {
        const double scale = std::min(room.width() / image.width(), room.height() / image.height());
        const QSizeF size(image.width() * scale, image.height() * scale);
        result.picture = QRectF(QPointF(room.left() + (room.width() - size.width()) / 2, room.top()), size);
    }
    result.note = QRectF(area.left() + margin, result.picture.bottom() + ends, width, noteHeight);
    if (isRoomy)
        result.bar = QRectF(result.picture.right() + spacing::kGap, result.picture.top(), std::round(theme.size * 0.8),
                            std::max(result.picture.height(), 1.0));
    return result;
}

std::optional<int> PatchOverlayFigure::patchAt(const QPointF& point, const Layout& at) const {
    if (isEmpty() || !at.picture.contains(point)) return {};
    const int row = static_cast<int>((point.y() - at.picture.top()) / at.picture.height() * rows_),
              column = static_cast<int>((point.x() - at.picture.left()) / at.picture.width() * columns_);
    return std::min(row, rows_ - 1) * columns_ + std::min(column, columns_ - 1);
}

QImage PatchOverlayFigure::overlay() const {
    QImage result(columns_, rows_, QImage::Format_ARGB32);
    const ColourMap& table = ColourMap::of(map());
    for (int row = 0; row < rows_; ++row)
        for (int column = 0; column < columns_; ++column) {
            const float value = values_[static_cast<size_t>(row * columns_ + column)];
            const float level = isSigned ? (value / largest_ + 1) / 2 : value / largest_;
            result.setPixel(column, row, std::isfinite(value) ? table.at(level) : qRgba(0, 0, 0, 0));
        }
    return result;
}

std::vector<Tick> PatchOverlayFigure::ticks() const {
    const QString end = QString::number(static_cast<double>(largest_), 'g', 2);
    if (isSigned) return {{0, QStringLiteral("−") + end}, {0.5, QStringLiteral("0")}, {1, QStringLiteral("+") + end}};
    return {{0, QStringLiteral("0")}, {1, end}};
}

void PatchOverlayFigure::drawBorders(QPainter& painter, const Layout& at) const {
    const bool areMerged = static_cast<int>(tokens.size()) == rows_ * columns_;
    const auto isBorder = [&](int patch, int neighbour) {
        return !areMerged || tokens[static_cast<size_t>(patch)] != tokens[static_cast<size_t>(neighbour)];
    };
    painter.setPen(QPen(QColor(255, 255, 255, areMerged ? 150 : 60), 1));
    // One line per stretch, because translucent lines look brighter where they overlap.
    const auto drawStretches = [&](int lines, int steps, const auto& isDrawn, const auto& draw) {
        for (int line = 1; line < lines; ++line)
            for (int step = 0, begin = 0; step <= steps; ++step) {
                if (step < steps && isDrawn(line, step)) continue;
                if (begin < step) draw(line, begin, step);
                begin = step + 1;
            }
    };
    const QRectF& area = at.picture;
    const auto x = [&](int column) { return area.left() + area.width() * column / columns_; };
    const auto y = [&](int row) { return area.top() + area.height() * row / rows_; };
    drawStretches(
        columns_, rows_,
        [&](int column, int row) { return isBorder(row * columns_ + column, row * columns_ + column - 1); },
        [&](int column, int begin, int end) {
            painter.drawLine(QPointF(x(column), y(begin)), QPointF(x(column), y(end)));
        });
    drawStretches(
        rows_, columns_,
        [&](int row, int column) { return isBorder(row * columns_ + column, (row - 1) * columns_ + column); },
        [&](int row, int begin, int end) { painter.drawLine(QPointF(x(begin), y(row)), QPointF(x(end), y(row))); });
}

void PatchOverlayFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    if (isEmpty()) return drawMessage(painter, area, tr("Open a vision model to see where it looks."), theme);
    const FigurePage page(painter, area, theme);
    const Layout at = layout(area, theme);
    if (at.title.height() > 0) drawLine(painter, at.title, kAtLeft, title, theme.titleFont(), theme.text);
    painter.setRenderHint(QPainter::SmoothPixmapTransform);
    painter.drawImage(at.picture, image);
    painter.setOpacity(opacity);
    const bool areTiny = at.picture.width() / columns_ < kSmallestGrid;
    painter.setRenderHint(QPainter::SmoothPixmapTransform, isSmooth);
    if (isSmooth || areTiny) {
        painter.drawImage(at.picture, overlay());
    } else {
        const QImage patches = overlay(); // drawn as rectangles, because viewers of SVG and PDF blur a small image
        for (int patch = 0; patch < rows_ * columns_; ++patch)
            painter.fillRect(at.patchRect(patch, columns_, rows_),
                             patches.pixelColor(patch % columns_, patch / columns_));
    }
    painter.setOpacity(1);
    if (showsGrid && !isBare && !areTiny) drawBorders(painter, at);
    if (hovered) frame(painter, at.patchRect(*hovered, columns_, rows_), theme.accent, 1);
    if (marked) frame(painter, at.patchRect(*marked, columns_, rows_), theme.query, 2);
    if (at.note.height() > 0) drawLine(painter, at.note, kAtLeft, note, theme.smallFont(), theme.faint);
    if (!at.bar.isNull()) drawColourBar(painter, at.bar, ColourMap::of(map()), ticks(), theme);
}

QString PatchOverlayFigure::csv() const {
    if (isEmpty()) return {};
    QString text;
    for (int column = 0; column < columns_; ++column) text += ',' + QString::number(column);
    text += "\r\n";
    for (int row = 0; row < rows_; ++row) {
        text += QString::number(row);
        for (int column = 0; column < columns_; ++column)
            text += ',' + csvNumber(values_[static_cast<size_t>(row * columns_ + column)]);
        text += "\r\n";
    }
    return text;
}

std::vector<NumberArray> PatchOverlayFigure::numbers() const {
    if (isEmpty()) return {};
    return {{.name = "patches", .shape = {rows_, columns_}, .values = values_}};
}

} // namespace attn
