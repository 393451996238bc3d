#include "app/figures/arcs_figure.h"

#include "app/figures/drawing.h"
#include "app/figures/spacing.h"

#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr float kLeastWeight = 0.02f; ///< fainter lines cannot be seen
constexpr double kMostRow = 2.6;      ///< height of a row of words, in lines of text

} // namespace

template <class Use> void ArcsFigure::forEachLine(const Use& use) const {
    for (size_t i = 0; i < heads.size(); ++i) {
        const PatternTile& tile = *heads[i].tile;
        for (int row = 0; row < tile.rows; ++row) {
            const int from = tileToken(row, tile.queryBegin, tile.queryEnd, tile.rows);
            if (query && *query != from) continue;
            for (int column = 0; column < tile.columns; ++column) {
                const int to = tileToken(column, tile.keyBegin, tile.keyEnd, tile.columns);
                const float weight = tile.at(row, column);
                if ((key && *key != to) || (hidesFirst && to == 0) || !(weight >= kLeastWeight)) continue;
                use(i, from, to, weight);
            }
        }
    }
}

double ArcsFigure::heightNeeded(const FigureTheme& theme) const {
    return 4 * theme.lineHeight() + (1 + rows()) * smallLine(theme);
}

ArcsFigure::Layout ArcsFigure::layout(const QRectF& area, const FigureTheme& theme) const {
    const double gap = spacing::kGap, line = theme.lineHeight();
    const double count = std::max(1, rows());
    Layout at;
    at.title = {area.left() + gap, area.top() + gap, area.width() - 2 * gap, line};
    at.legend = {area.left() + gap, at.title.bottom(), area.width() - 2 * gap, heads.size() > 1 ? line : 0};
    at.top = at.legend.bottom() + gap + smallLine(theme);
    const double room = (area.bottom() - gap - at.top) / count;
    at.step = theme.fillsRoom ? room : std::min(room, kMostRow * line);
    double widest = 2 * theme.size;
    const QFont font = at.step > line * 1.1 ? theme.textFont() : theme.smallFont();
    for (const std::vector<QString>* words : {&labels, &keyLabels})
        for (const QString& label : *words) widest = std::max(widest, textWidth(label, font));
    at.labelWidth = std::min(widest + gap, area.width() * 0.3);
    // On a page, the columns stay close enough for the eye to follow a line between them.
    const double across = area.width() - 2 * (at.labelWidth + gap);
    const double between = theme.fillsRoom ? across : std::min(across, std::max(20 * line, count * at.step * 0.8));
    const double middle = area.center().x();
    at.queryEdge = middle - between / 2;
    at.keyEdge = middle + between / 2;
    return at;
}

std::optional<ArcsFigure::Place> ArcsFigure::placeAt(const QPointF& point, const QRectF& area,
                                                     const FigureTheme& theme) const {
    const Layout at = layout(area, theme);
    const int token = static_cast<int>(std::floor((point.y() - at.top) / at.step));
    const auto isIn = [token](const std::vector<QString>& words) { return token < static_cast<int>(words.size()); };
    if (isEmpty() || token < 0) return std::nullopt;
    if (point.x() <= at.queryEdge + theme.size && isIn(labels)) return Place{token, false};
    if (point.x() >= at.keyEdge - theme.size && isIn(keys())) return Place{token, true};
    return std::nullopt;
}

void ArcsFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    if (isEmpty()) return drawMessage(painter, area, tr("There is no attention to show yet."), theme);
    const FigurePage page(painter, area, theme);
    const Layout at = layout(area, theme);
    drawLine(painter, at.title, kAtLeft, title, theme.titleFont(), theme.text);
    if (heads.size() > 1) {
        double x = at.legend.left();
        for (size_t i = 0; i < heads.size(); ++i) {
            const QString name = QStringLiteral("H%1").arg(heads[i].number);
            const double width = textWidth(name, theme.smallFont());
            painter.fillRect(QRectF(x, at.legend.center().y() - 4, 8, 8), seriesColour(i));
            drawLine(painter, {x + 12, at.legend.top(), width + 1, at.legend.height()}, kAtLeft, name,
                     theme.smallFont(), theme.text);
            x += width + 26;
        }
    }
    const auto middle = [&](int token) { return at.top + (token + 0.5) * at.step; };
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    const double thickness = std::clamp(at.step / 8, 1.0, 3.0);
    forEachLine([&](size_t head, int from, int to, float weight) {
        QColor colour = heads.size() > 1 ? seriesColour(head) : theme.accent;
        colour.setAlphaF(std::min(1.0f, weight));
        painter.setPen(QPen(colour, thickness));
        const double bend = (at.keyEdge - at.queryEdge) / 3;
        QPainterPath path({at.queryEdge, middle(from)});
        path.cubicTo({at.queryEdge + bend, middle(from)}, {at.keyEdge - bend, middle(to)}, {at.keyEdge, middle(to)});
        painter.drawPath(path);
    });
    painter.restore();

    // Words that would overlap the one before are left out, except marked ones.
    const QFont font = at.step > theme.lineHeight() * 1.1 ? theme.textFont() : theme.smallFont();
    const int every = std::max(1, static_cast<int>(std::ceil(smallLine(theme) * 0.9 / at.step)));
    for (int token = 0; token < rows(); ++token) {
        const double height = std::max(at.step, smallLine(theme));
        const auto word = [&](bool isKey, bool isMarked) {
            const std::vector<QString>& words = isKey ? keys() : labels;
            if ((token % every != 0 && !isMarked) || static_cast<size_t>(token) >= words.size()) return;
            const double left = isKey ? at.keyEdge + 6 : at.queryEdge - 6 - at.labelWidth;
            QFont used = font;
            used.setBold(isMarked);
            drawLine(painter, {left, middle(token) - height / 2, at.labelWidth, height}, isKey ? kAtLeft : kAtRight,
                     words[static_cast<size_t>(token)], used,
                     isMarked ? (isKey ? theme.key : theme.query) : theme.text);
        };
        word(false, query == token);
        word(true, key == token);
    }
    const auto head = [&](double left, const auto& side, const QString& name, const QColor& colour) {
        drawLine(painter, {left, at.top - smallLine(theme), at.labelWidth, smallLine(theme)}, side, name,
                 theme.smallFont(), colour);
    };
    head(at.queryEdge - 6 - at.labelWidth, kAtRight, tr("query"), theme.query);
    head(at.keyEdge + 6, kAtLeft, tr("key"), theme.key);
}

QString ArcsFigure::csv() const {
    if (isEmpty()) return {};
    QString text = QStringLiteral("head,query,key,weight\r\n");
    forEachLine([&](size_t head, int from, int to, float weight) {
        const auto name = [](const std::vector<QString>& words, int token) {
            return csvText(QStringLiteral("%1 %2").arg(token).arg(words.at(static_cast<size_t>(token))));
        };
        text += QStringLiteral("%1,%2,%3,%4\r\n")
                    .arg(heads[head].number)
                    .arg(name(labels, from), name(keys(), to), csvNumber(weight));
    });
    return text;
}

std::vector<NumberArray> ArcsFigure::numbers() const {
    std::vector<NumberArray> arrays;
    for (const Head& head : heads)
        arrays.push_back(
            {"pattern_head_" + std::to_string(head.number), {head.tile->rows, head.tile->columns}, head.tile->values});
    return arrays;
}

} // namespace attn
