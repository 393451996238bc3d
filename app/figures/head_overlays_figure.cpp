#include "app/figures/head_overlays_figure.h"

#include "app/figures/drawing.h"
#include "app/figures/head_label.h"
#include "app/figures/spacing.h"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr double kGap = spacing::kTight; ///< between heads
constexpr double kGateHeight = 4;        ///< of the bar of a gate, in pixels

double gutter(const FigureTheme& theme) { return std::ceil(textWidth(QStringLiteral("L00"), theme.smallFont())) + 6; }

} // namespace

bool HeadOverlaysFigure::has(int item) const {
    return item >= 0 && item < items() &&
           static_cast<size_t>(item % heads) < layers[static_cast<size_t>(item / heads)].size();
}

QRectF HeadOverlaysFigure::overlayRect(int item, const QRectF& area, const FigureTheme& theme) const {
    const double left = gutter(theme), top = smallLine(theme) + 2;
    const double roomX = (area.width() - left) / heads - kGap,
                 roomY = (area.height() - top) / static_cast<double>(layers.size()) - kGap;
    const double scale = std::max(0.0, std::min(roomX / picture.width(), roomY / picture.height()));
    const double width = picture.width() * scale, height = picture.height() * scale;
    return {area.left() + left + item % heads * (width + kGap), area.top() + top + item / heads * (height + kGap),
            width, height};
}

std::optional<int> HeadOverlaysFigure::itemAt(const QPointF& point, const QRectF& area,
                                              const FigureTheme& theme) const {
    for (int item = 0; item < items(); ++item)
        if (has(item) && overlayRect(item, area, theme).contains(point)) return item;
    return {};
}

int HeadOverlaysFigure::moved(int item, int right, int down) const {
    const int layer = std::clamp(item / heads + down, 0, static_cast<int>(layers.size()) - 1);
    const auto last = static_cast<int>(layers[static_cast<size_t>(layer)].size()) - 1;
    return layer * heads + std::clamp(item % heads + right, 0, std::max(last, 0));
}

QString HeadOverlaysFigure::reading(int item) const {
    return has(item) ? headLabel(item / heads, item % heads) : QString();
}

/// Draws a bar as wide as the gate is open. A closed head is crossed out.
void HeadOverlaysFigure::paintGate(QPainter& painter, int item, const QRectF& at, const FigureTheme& theme) const {
    if (static_cast<size_t>(item) >= gates.size()) return;
    const double open = std::clamp(static_cast<double>(gates[static_cast<size_t>(item)]), 0.0, 1.0);
    const QRectF bar(at.left(), at.bottom() - kGateHeight, at.width(), kGateHeight);
    painter.fillRect(bar, theme.background);
    painter.fillRect(QRectF(bar.left(), bar.top() + 1, bar.width() * open, bar.height() - 1), theme.faint);
    if (open > 0) return;
    painter.setPen(QPen(theme.accent, 2));
    painter.drawLine(at.topLeft(), bar.topRight());
}

void HeadOverlaysFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    if (items() == 0)
        return drawMessage(painter, area, tr("Open a vision model to see where every head looks."), theme);
    painter.fillRect(area, theme.background);
    for (int item = 0; item < items(); ++item)
        if (has(item)) {
            const QRectF at = overlayRect(item, area, theme);
            overlay(item).paint(painter, at, theme);
            paintGate(painter, item, at, theme);
        }
    const double line = smallLine(theme);
    const QRectF first = overlayRect(0, area, theme);
    for (int head = 0; head < heads && first.width() > gutter(theme) - 6; ++head) {
        const QRectF at = overlayRect(head, area, theme);
        drawLine(painter, {at.left(), area.top(), at.width(), line}, Qt::AlignCenter, headColumnLabel(head),
                 theme.smallFont(), theme.faint);
    }
    const int step = std::max(1, static_cast<int>(std::ceil(line / (first.height() + kGap))));
    for (int layer = 0; layer < std::ssize(layers); layer += step)
        drawLine(
            painter,
            {area.left(), overlayRect(layer * heads, area, theme).center().y() - line / 2, gutter(theme) - 4, line},
            kAtRight, layerLabel(layer), theme.smallFont(), theme.faint);
    painter.setPen(QPen(theme.accent, 2));
    painter.setBrush(Qt::NoBrush);
    if (chosen && has(*chosen)) painter.drawRect(overlayRect(*chosen, area, theme));
}

QString HeadOverlaysFigure::csv() const {
    if (items() == 0) return {};
    QString text = QStringLiteral("layer,head,row,column,weight\r\n");
    for (int item = 0; item < items(); ++item) {
        if (!has(item)) continue;
        const int columns = overlay(item).columns();
        for (int patch = 0; patch < std::ssize(overlay(item).values()); ++patch)
            text += QStringLiteral("%1,%2,%3,%4,")
                        .arg(item / heads)
                        .arg(item % heads)
                        .arg(patch / columns)
                        .arg(patch % columns) +
                    csvNumber(overlay(item).values()[static_cast<size_t>(patch)]) + QStringLiteral("\r\n");
    }
    return text;
}

std::vector<NumberArray> HeadOverlaysFigure::numbers() const {
    std::vector<NumberArray> arrays;
    for (size_t at = 0; at < layers.size(); ++at) {
        if (layers[at].empty()) continue;
        NumberArray array{.name = "layer_" + std::to_string(at),
                          .shape = {std::ssize(layers[at]), layers[at][0].rows(), layers[at][0].columns()},
                          .values = {}};
        for (const PatchOverlayFigure& head : layers[at])
            array.values.insert(array.values.end(), head.values().begin(), head.values().end());
        arrays.push_back(std::move(array));
    }
    return arrays;
}

} // namespace attn
