#include "app/figures/drawing.h"

#include <QFontMetricsF>
#include <QLocale>

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {

void drawLine(QPainter& painter, const QRectF& rect, Qt::Alignment alignment, const QString& text, const QFont& font,
              const QColor& colour) {
    if (text.isEmpty() || rect.width() < 3) return;
    painter.setFont(font);
    painter.setPen(colour);
    // 0.5: widths of the same text differ by fractions between devices.
    const QString fitted = QFontMetricsF(font).elidedText(text, Qt::ElideRight, rect.width() + 0.5);
    painter.drawText(rect, static_cast<int>(alignment) | Qt::TextSingleLine | Qt::TextDontClip, fitted);
}

void drawUpwards(QPainter& painter, const QRectF& rect, Qt::Alignment alignment, const QString& text, const QFont& font,
                 const QColor& colour) {
    painter.save();
    painter.translate(rect.left(), rect.bottom());
    painter.rotate(-90);
    drawLine(painter, QRectF(0, 0, rect.height(), rect.width()), alignment, text, font, colour);
    painter.restore();
}

void drawMessage(QPainter& painter, const QRectF& area, const QString& text, const FigureTheme& theme) {
    painter.fillRect(area, theme.background);
    painter.setFont(theme.textFont());
    painter.setPen(theme.faint);
    painter.drawText(area.adjusted(theme.size, theme.size, -theme.size, -theme.size),
                     static_cast<int>(Qt::AlignCenter) | Qt::TextWordWrap, text);
}

void drawColourBar(QPainter& painter, const QRectF& bar, const ColourMap& map, const std::vector<Tick>& ticks,
                   const FigureTheme& theme) {
    constexpr int kSteps = 64;
    for (int i = 0; i < kSteps; ++i) {
        const double top = bar.bottom() - bar.height() * (i + 1) / kSteps,
                     bottom = bar.bottom() - bar.height() * i / kSteps;
        // Steps overlap by a little, or viewers of SVG and PDF show hairlines between them.
        painter.fillRect(QRectF(bar.left(), top, bar.width(), std::min(bottom - top + 0.5, bar.bottom() - top)),
                         QColor(map.at((static_cast<float>(i) + 0.5f) / kSteps)));
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.line, 1));
    painter.drawRect(bar);
    const QFont font = theme.smallFont();
    const double height = QFontMetricsF(font).height();
    for (const Tick& tick : ticks) {
        const double y = bar.bottom() - tick.place * bar.height();
        painter.setPen(QPen(theme.faint, 1));
        painter.drawLine(QPointF(bar.right(), y), QPointF(bar.right() + 3, y));
        drawLine(painter, QRectF(bar.right() + 6, y - height / 2, textWidth(tick.label, font) + 1, height), kAtLeft,
                 tick.label, font, theme.faint);
    }
}

QColor seriesColour(size_t index) {
    static constexpr std::array<QRgb, 7> kColours{0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7, 0xE69F00, 0x56B4E9, 0x999999};
    return QColor(kColours.at(index % kColours.size()));
}

double smallLine(const FigureTheme& theme) { return std::ceil(QFontMetricsF(theme.smallFont()).height()); }

double textWidth(const QString& text, const QFont& font) {
    return std::ceil(QFontMetricsF(font).horizontalAdvance(text));
}

QString formatNumber(double value, int decimals) {
    if (std::isnan(value)) return QStringLiteral("–");
    if (std::isinf(value)) return value > 0 ? QStringLiteral("∞") : QStringLiteral("−∞");
    QString text = QString::number(value, 'f', decimals);
    if (text.toDouble() == 0.0 && text.startsWith('-')) text.remove(0, 1);
    return text.replace('-', QStringLiteral("−"));
}

QString formatProbability(double value) {
    if (std::isnan(value)) return {};
    if (value > 0 && value < 0.005) return QStringLiteral("<.01");
    return value == 0 ? QStringLiteral("0") : QString::number(value, 'f', 2);
}

QString csvNumber(float value) {
    return std::isnan(value) ? QString() : QString::number(static_cast<double>(value), 'g', 9);
}

QString csvText(const QString& text) {
    QString quoted = text;
    return '"' + quoted.replace('"', QStringLiteral("\"\"")) + '"';
}

} // namespace attn
