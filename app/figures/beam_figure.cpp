#include "app/figures/beam_figure.h"

#include "app/figures/drawing.h"
#include "app/figures/spacing.h"

#include <QCoreApplication>
#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <set>

namespace attn {
namespace {

struct BeamText {
    Q_DECLARE_TR_FUNCTIONS(attn::BeamFigure)
};

constexpr double kColumn = 9, kRow = 3.1, kGapAcross = 2.2, kGapDown = 0.5; ///< in text sizes

QString fateText(BeamNode::Fate fate) {
    switch (fate) {
    case BeamNode::Fate::Kept:
        return BeamText::tr("kept");
    case BeamNode::Fate::Dropped:
        return BeamText::tr("dropped");
    case BeamNode::Fate::Finished:
        return BeamText::tr("finished");
    }
    return {};
}

double noteWidth(const FigureTheme& theme) { return 48 * theme.size; } // short enough to be read without scrolling

/// The height of the title and note above the tree.
double top(const QString& note, const FigureTheme& theme) {
    const double lines =
        std::ceil(1.1 * textWidth(note, theme.smallFont()) / noteWidth(theme)); // 1.1: words do not break
    return spacing::kGap + std::round(theme.lineHeight()) + lines * smallLine(theme) + spacing::kGap;
}

} // namespace

std::vector<BeamFigure::Place> BeamFigure::places() const {
    std::vector<Place> places(nodes.size());
    if (places.empty()) return places;
    places[0].row = 0;
    std::vector<int> used{1}, dropped{0}; // rows, by column
    for (size_t node = 1; node < nodes.size(); ++node) {
        const int column = places[static_cast<size_t>(nodes[node].parent)].column + 1;
        if (static_cast<size_t>(column) >= used.size()) {
            used.push_back(0);
            dropped.push_back(0);
        }
        places[node].column = column;
        const bool isDropped = nodes[node].fate == BeamNode::Fate::Dropped;
        if (isDropped && dropped[static_cast<size_t>(column)]++ >= width) continue;
        places[node].row = used[static_cast<size_t>(column)]++; // of equally long texts, the most probable comes first
    }
    return places;
}

std::vector<QRectF> BeamFigure::layout(const QRectF& area, const FigureTheme& theme) const {
    std::vector<QRectF> rects;
    const double size = theme.size, begin = area.top() + top(note, theme);
    for (const Place& place : places())
        rects.push_back(place.row < 0
                            ? QRectF()
                            : QRectF(area.left() + spacing::kGap + place.column * (kColumn + kGapAcross) * size,
                                     begin + place.row * (kRow + kGapDown) * size, kColumn * size, kRow * size));
    return rects;
}

QSizeF BeamFigure::pageSize(const QSizeF& onScreen, const FigureTheme& theme) const {
    Q_UNUSED(onScreen)
    QRectF all;
    for (const QRectF& rect : layout({}, theme)) all |= rect;
    const double least = noteWidth(theme) + spacing::kGap;
    return {std::max(all.right() + spacing::kGap, least), all.bottom() + spacing::kGap};
}

std::optional<int> BeamFigure::itemAt(const QPointF& point, const QRectF& area, const FigureTheme& theme) const {
    const std::vector<QRectF> rects = layout(area, theme);
    for (size_t node = 0; node < rects.size(); ++node)
        if (rects[node].contains(point)) return static_cast<int>(node);
    return {};
}

int BeamFigure::moved(int item, int right, int down) const {
    const std::vector<Place> at = places();
    const Place from = at[static_cast<size_t>(item)];
    if (right < 0) return std::max(0, nodes[static_cast<size_t>(item)].parent);
    for (size_t node = 0; node < at.size(); ++node) {
        const bool isChild = right > 0 && nodes[node].parent == item && at[node].row >= 0;
        const bool isBeside = right == 0 && at[node].column == from.column && at[node].row == from.row + down;
        if (isChild || (isBeside && at[node].row >= 0)) return static_cast<int>(node);
    }
    return item;
}

std::vector<int> BeamFigure::wayTo(int node) const {
    std::vector<int> way;
    for (; node > 0; node = nodes[static_cast<size_t>(node)].parent) way.push_back(node);
    std::ranges::reverse(way);
    return way;
}

double BeamFigure::probability(int node) const {
    const BeamNode& own = nodes[static_cast<size_t>(node)];
    return std::exp(own.logProbability - nodes[static_cast<size_t>(own.parent)].logProbability);
}

QString BeamFigure::reading(int item) const {
    if (item == 0) return BeamText::tr("The end of the prompt");
    QStringList way;
    for (const int node : wayTo(item)) way << texts[static_cast<size_t>(node)];
    const BeamNode& own = nodes[static_cast<size_t>(item)];
    return BeamText::tr("“%1”: %2. Its last token has a probability of %3 after the tokens before it. Logarithm of the "
                        "probability of the whole text: %4. Score: %5.")
        .arg(way.join(QStringLiteral(" ")), fateText(own.fate), formatPercent(probability(item)),
             formatNumber(own.logProbability, 3), formatNumber(own.score, 3));
}

void BeamFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    const FigurePage page(painter, area, theme);
    painter.setRenderHint(QPainter::Antialiasing);
    const double gap = spacing::kGap, line = std::round(theme.lineHeight());
    drawLine(painter, {area.left() + gap, area.top() + gap, area.width() - 2 * gap, line}, kAtLeft, title,
             theme.titleFont(), theme.text);
    painter.setFont(theme.smallFont());
    painter.setPen(theme.faint);
    painter.drawText(
        QRectF(area.left() + gap, area.top() + gap + line, noteWidth(theme), top(note, theme) - gap - line),
        static_cast<int>(Qt::AlignLeft | Qt::AlignTop) | Qt::TextWordWrap, note);
    const std::vector<QRectF> rects = layout(area, theme);
    std::set<int> best, marked;
    if (!finished.empty())
        for (const int node : wayTo(finished.front())) best.insert(node);
    if (const auto shown = hovered ? hovered : chosen; shown && *shown < items())
        for (const int node : wayTo(*shown)) marked.insert(node);
    const auto colourOf = [&](int node) {
        if (marked.contains(node)) return theme.accent;
        const bool isDropped = nodes[static_cast<size_t>(node)].fate == BeamNode::Fate::Dropped;
        return isDropped ? theme.line : best.contains(node) ? theme.prediction : theme.faint;
    };
    for (int node = 1; node < items(); ++node) {
        const QRectF& to = rects[static_cast<size_t>(node)];
        const QRectF& from = rects[static_cast<size_t>(nodes[static_cast<size_t>(node)].parent)];
        if (to.isNull() || from.isNull()) continue;
        const QPointF start(from.right(), from.center().y()), end(to.left(), to.center().y());
        const double middle = (start.x() + end.x()) / 2;
        QPainterPath edge(start);
        edge.cubicTo({middle, start.y()}, {middle, end.y()}, end);
        painter.setPen(QPen(colourOf(node), best.contains(node) || marked.contains(node) ? 2.5 : 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawPath(edge);
    }
    for (int node = 0; node < items(); ++node) {
        const QRectF& rect = rects[static_cast<size_t>(node)];
        if (rect.isNull()) continue;
        const BeamNode& own = nodes[static_cast<size_t>(node)];
        const bool isDropped = node > 0 && own.fate == BeamNode::Fate::Dropped;
        const bool isStrong = best.contains(node) || marked.contains(node);
        painter.setPen(
            QPen(node == 0 ? theme.faint : colourOf(node), isStrong ? 2 : 1, isDropped ? Qt::DashLine : Qt::SolidLine));
        painter.setBrush(isDropped ? theme.background : theme.plot);
        painter.drawRoundedRect(rect, 4, 4);
        if (node > 0 && own.fate == BeamNode::Fate::Finished)
            painter.drawRoundedRect(rect.adjusted(3, 3, -3, -3), 2, 2);
        const QRectF inner = rect.adjusted(spacing::kGap, spacing::kTight, -spacing::kGap, -spacing::kTight);
        const QString text = node == 0 ? BeamText::tr("prompt") : texts[static_cast<size_t>(node)];
        const QRectF upper(inner.topLeft(), QSizeF(inner.width(), node == 0 ? inner.height() : inner.height() / 2));
        drawLine(painter, upper, Qt::AlignCenter, text, theme.textFont(),
                 isDropped || node == 0 ? theme.faint : theme.text);
        if (node > 0)
            drawLine(painter, upper.translated(0, upper.height()), Qt::AlignCenter, formatPercent(probability(node)),
                     theme.smallFont(), theme.faint);
    }
}

QString BeamFigure::csv() const {
    QString text = QStringLiteral("node,parent,token,text,log_probability,score,fate\r\n");
    constexpr const char* kFates[] = {"kept", "dropped", "finished"};
    for (int node = 1; node < items(); ++node) {
        const BeamNode& own = nodes[static_cast<size_t>(node)];
        text += QStringLiteral("%1,%2,%3,").arg(node).arg(own.parent).arg(own.token) +
                csvText(texts[static_cast<size_t>(node)]) + ',' + csvNumber(static_cast<float>(own.logProbability)) +
                ',' + csvNumber(static_cast<float>(own.score)) + ',' +
                QLatin1String(kFates[static_cast<size_t>(own.fate)]) + QStringLiteral("\r\n");
    }
    return text;
}

std::vector<NumberArray> BeamFigure::numbers() const {
    if (!hasNumbers()) return {};
    const auto column = [&](const char* name, auto&& value) {
        NumberArray array{.name = name, .shape = {items()}, .values = {}};
        for (const BeamNode& node : nodes) array.values.push_back(static_cast<float>(value(node)));
        return array;
    };
    return {column("parent", [](const BeamNode& node) { return node.parent; }),
            column("token", [](const BeamNode& node) { return node.token; }),
            column("log_probability", [](const BeamNode& node) { return node.logProbability; }),
            column("score", [](const BeamNode& node) { return node.score; }),
            column("fate", [](const BeamNode& node) { return static_cast<int>(node.fate); })};
}

} // namespace attn
