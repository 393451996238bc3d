#include "app/figures/drawing.h"

#include "app/figures/spacing.h"

#include <QFontMetricsF>
#include <QLocale>

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {
namespace {

constexpr QChar kMinus(0x2212);
constexpr QStringView kPair = u" ← ";

} // namespace

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
    if (textWidth(text, font) <= rect.width()) { // a letter is easier to read upright
        const bool isAtEnd = alignment.testFlag(Qt::AlignRight);
        const double height = std::min(rect.height(), QFontMetricsF(font).height());
        const QRectF end(rect.left(), isAtEnd ? rect.top() : rect.bottom() - height, rect.width(), height);
        return drawLine(painter, end, Qt::AlignCenter, text, font, colour);
    }
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
        const double top = std::min(y - height / 2, bar.bottom() + spacing::kTight - height); // the area may end there
        drawLine(painter, QRectF(bar.right() + 6, top, textWidth(tick.label, font) + 1, height), kAtLeft, tick.label,
                 font, theme.faint);
    }
}

QColor seriesColour(size_t index) {
    static constexpr std::array<QRgb, kSeriesColours> kColours{0x0078D2, 0xC38700, 0x782DFF, 0xF01E5A,
                                                               0x879678, 0xB44B0F, 0xFF00FF, 0x875A87};
    return QColor(kColours.at(index % kColours.size()));
}

std::vector<double> roundMarks(double low, double high, int most) {
    const double least = (high - low) / std::max(1, most - 1);
    const double power = std::pow(10, std::floor(std::log10(least)));
    double step = 10 * power;
    for (const double factor : {5, 2, 1})
        if (factor * power >= least * (1 - 1e-9)) step = factor * power;
    std::vector<double> marks;
    // 1e-6: a mark that misses the end by rounding is kept.
    for (double index = std::ceil(low / step - 1e-6); index * step <= high + 1e-6 * step; ++index)
        marks.push_back(index * step);
    return marks;
}

QString markText(double mark, const std::vector<double>& marks) {
    if (mark == 0 || marks.size() < 2) return QString::number(mark);
    const int exponent = static_cast<int>(std::floor(std::log10(marks[1] - marks[0]) + 1e-6));
    if (exponent >= -4) return formatNumber(mark, std::max(0, -exponent));
    return formatNumber(mark * std::pow(10, -exponent), 0) + QStringLiteral("×") + powerOfTen(exponent);
}

QString powerOfTen(int exponent) {
    static const QString kDigits = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
    QString text = exponent < 0 ? QStringLiteral("10⁻") : QStringLiteral("10");
    for (const QChar digit : QString::number(std::abs(exponent))) text += kDigits[digit.digitValue()];
    return text;
}

double smallLine(const FigureTheme& theme) { return std::ceil(QFontMetricsF(theme.smallFont()).height()); }

double textWidth(const QString& text, const QFont& font) {
    return std::ceil(QFontMetricsF(font).horizontalAdvance(text));
}

QString pairLabel(const QString& own, const QString& other) { return QString(own).append(kPair).append(other); }

bool isPairLabel(const QString& label) { return label.contains(kPair); }

QString fittedLabel(const QString& label, const QFont& font, double width) {
    const QFontMetricsF metrics(font);
    const qsizetype at = label.indexOf(kPair);
    if (at < 0 || textWidth(label, font) <= width) return metrics.elidedText(label, Qt::ElideRight, width);
    const QString own = label.left(at), other = label.mid(at + kPair.size());
    const double both = std::max(0.0, width - textWidth(kPair.toString(), font));
    const auto cut = [&](const QString& name, const QString& beside) { // a short name leaves its room to the other
        return metrics.elidedText(name, Qt::ElideRight, std::max(both / 2, both - textWidth(beside, font)));
    };
    return pairLabel(cut(own, other), cut(other, own));
}

QString grouped(qint64 number) { return QLocale(QLocale::English).toString(number); }

QString formatNumber(double value, int decimals) {
    if (std::isnan(value)) return QStringLiteral("–");
    if (std::isinf(value)) return value > 0 ? QStringLiteral("∞") : QStringLiteral("−∞");
    QString text = QString::number(value, 'f', decimals);
    if (text.startsWith('-') && text.toDouble() == 0.0) text.remove(0, 1);
    return text.replace('-', kMinus);
}

QString formatShort(double value, int digits) {
    QString text = QString::number(value, 'g', digits);
    if (text.startsWith('-')) text[0] = kMinus;
    return text;
}

QString formatMeasured(double value, int decimals) {
    const bool isSmall = value != 0 && std::abs(value) < 0.999 * std::pow(10, 1 - decimals);
    return isSmall ? formatShort(value, 3) : formatNumber(value, decimals);
}

QString formatSaid(double said, ClassActivation activation) {
    return activation == ClassActivation::None ? formatMeasured(said, 4) : formatPercent(said);
}

QString formatPercent(double share, int decimals) {
    const double least = std::pow(10, -decimals);
    if (share > 0 && share * 100 < least / 2) return QStringLiteral("<%1 %").arg(formatNumber(least, decimals));
    return formatNumber(share * 100, decimals) + QStringLiteral(" %");
}

std::optional<double> readNumber(const QString& text) {
    QString number = text;
    if (number.startsWith(kMinus)) number[0] = '-';
    bool isNumber = false;
    const double value = number.toDouble(&isNumber);
    return isNumber ? std::optional(value) : std::nullopt;
}

QString formatProbability(double value) {
    if (std::isnan(value)) return {};
    if (value > 0 && value < 0.005) return QStringLiteral("<.01");
    return value == 0 ? QStringLiteral("0") : QString::number(value, 'f', 2);
}

QString csvNumber(float value) {
    return std::isnan(value) ? QString() : QString::number(static_cast<double>(value), 'g', 9);
}

QString csvCell(const QString& shown) {
    const bool isNegative = shown.size() > 1 && shown[0] == kMinus && shown[1].isDigit();
    return csvText(isNegative ? '-' + shown.mid(1) : shown);
}

QString csvText(const QString& text) {
    QString quoted = text;
    return '"' + quoted.replace('"', QStringLiteral("\"\"")) + '"';
}

} // namespace attn
