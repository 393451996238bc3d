#include "app/figures/tree_figure.h"

#include "app/figures/drawing.h"
#include "app/figures/spacing.h"

#include <QPainterPath>
#include <QStringList>

#include <algorithm>
#include <cmath>

namespace attn {

QString TreeFigure::labelOf(int word) const {
    return word < static_cast<int>(labels.size()) ? labels[static_cast<size_t>(word)] : QString::number(word);
}

int TreeFigure::parentNumber(int word) const {
    const int parent = parents[static_cast<size_t>(word)];
    return parent == word ? 0 : parent - leading + 1;
}

double TreeFigure::widthNeeded(const FigureTheme& theme) const {
    double widest = 2 * theme.size;
    for (int word = 0; word < static_cast<int>(parents.size()); ++word)
        widest = std::max(widest, textWidth(labelOf(word), theme.textFont()) + theme.size);
    return widest * static_cast<double>(parents.size()) + 2 * spacing::kTight;
}

QSizeF TreeFigure::pageSize(const QSizeF& onScreen, const FigureTheme& theme) const {
    return {std::max(onScreen.width(), widthNeeded(theme)), onScreen.height()};
}

QString TreeFigure::summary() const {
    QStringList parts;
    for (int word = leading; word < static_cast<int>(parents.size()); ++word) {
        const int parent = parents[static_cast<size_t>(word)];
        parts += parent == word ? tr("“%1” is the root").arg(labelOf(word))
                                : tr("“%1” depends on “%2”").arg(labelOf(word), labelOf(parent));
    }
    return parts.join(QStringLiteral(", ")) + '.';
}

void TreeFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    if (isEmpty()) return drawMessage(painter, area, tr("Nothing to show yet."), theme);
    const FigurePage page(painter, area, theme);
    painter.setRenderHint(QPainter::Antialiasing);
    const double gap = spacing::kTight, line = smallLine(theme), title_ = std::round(theme.lineHeight());
    const QRectF inside = area.adjusted(gap, gap, -gap, -gap);
    drawLine(painter, {inside.left(), inside.top(), inside.width(), title_}, kAtLeft, title, theme.titleFont(),
             theme.text);
    drawLine(painter, {inside.left(), inside.top() + title_, inside.width(), line}, kAtLeft, note, theme.smallFont(),
             theme.faint);
    const int count = static_cast<int>(parents.size());
    const double top = inside.top() + title_ + line + gap, base = inside.bottom() - title_ - line;
    // Few words stay near one another.
    const double step = std::min(inside.width(), widthNeeded(theme) * 1.5) / count, left = inside.left();
    const auto middle = [&](int word) { return left + (word + 0.5) * step; };
    int longest = 1;
    for (int word = leading; word < count; ++word)
        longest = std::max(longest, std::abs(parents[static_cast<size_t>(word)] - word));
    const double tip = theme.size * 0.35, side = std::min(step * 0.14, theme.size * 0.6);
    const auto arrowAt = [&](double x, const QColor& colour) {
        QPainterPath arrow({x, base});
        arrow.lineTo(x - tip * 0.7, base - 1.6 * tip);
        arrow.lineTo(x + tip * 0.7, base - 1.6 * tip);
        painter.fillPath(arrow, colour);
    };
    const double width = theme.size > 14 ? 2.5 : 1.5;
    for (int word = 0; word < count; ++word) {
        const bool isInTree = word >= leading;
        const QRectF slot(left + word * step, base, step, title_);
        drawLine(painter, slot, Qt::AlignCenter, labelOf(word), theme.textFont(), isInTree ? theme.text : theme.faint);
        drawLine(painter, slot.translated(0, title_), Qt::AlignCenter,
                 isInTree ? QString::number(word - leading + 1) : tr("none"), theme.smallFont(), theme.faint);
        if (!isInTree) continue;
        const int parent = parents[static_cast<size_t>(word)];
        const double x = middle(word);
        painter.setPen(QPen(parent == word ? theme.accent : theme.query, width));
        painter.setBrush(Qt::NoBrush);
        if (parent == word) {
            painter.drawLine(QPointF(x, top), QPointF(x, base - tip));
            arrowAt(x, theme.accent);
            continue;
        }
        // An arrow leaves the parent beside the middle, where those that arrive end.
        const double from = middle(parent) + (word > parent ? side : -side);
        const double rise = (base - top) * (0.25 + 0.7 * std::abs(word - parent) / longest);
        QPainterPath arc({from, base});
        arc.cubicTo(from, base - rise * 4 / 3, x, base - rise * 4 / 3, x, base - tip);
        painter.drawPath(arc);
        arrowAt(x, theme.query);
    }
}

QString TreeFigure::csv() const {
    if (isEmpty()) return {};
    QString text = QStringLiteral("number,word,head\r\n");
    for (int word = leading; word < static_cast<int>(parents.size()); ++word)
        text +=
            QStringLiteral("%1,%2,%3\r\n")
                .arg(QString::number(word - leading + 1), csvText(labelOf(word)), QString::number(parentNumber(word)));
    return text;
}

std::vector<NumberArray> TreeFigure::numbers() const {
    if (isEmpty()) return {};
    NumberArray array{
        .name = title.toStdString(), .shape = {static_cast<int64_t>(parents.size()) - leading}, .values = {}};
    for (int word = leading; word < static_cast<int>(parents.size()); ++word)
        array.values.push_back(static_cast<float>(parentNumber(word)));
    return {array};
}

} // namespace attn
