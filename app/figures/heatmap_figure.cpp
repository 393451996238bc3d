#include "app/figures/heatmap_figure.h"

#include "app/figures/difference.h"
#include "app/figures/drawing.h"
#include "app/figures/spacing.h"

#include <QFontMetricsF>
#include <QPaintEngine>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr double kLargestCell = 160; ///< pixels; keeps a sequence of one token from filling the screen
constexpr double kMostStretch = 1.8; ///< of a cell on a page: fills wide areas, and leaves room for words
constexpr double kVectorCells =
    64.0 * 64.0;                      ///< up to this many cells are drawn as rectangles, which are sharp in SVG and PDF
constexpr double kLargestPage = 4000; ///< pixels across the cells of an exported page
constexpr double kRoomyWidth = 18, kRoomyHeight = 15; ///< text sizes; smaller areas have no title and colour bar
constexpr double kBarSpace = 5.2;                     ///< of the colour bar with its ticks, in text sizes
/// Neighbouring rectangles of a vector file overlap by this much. Without it, viewers that smooth edges show hairline
/// gaps.
constexpr double kOverlap = 1;

bool drawsVectors(const QPainter& painter) {
    const QPaintEngine::Type type = painter.paintEngine()->type();
    return type == QPaintEngine::SVG || type == QPaintEngine::Pdf;
}

} // namespace

QRectF HeatmapFigure::Layout::cellRect(const Cell& cell) const {
    return {plot.left() + (cell.key - window.left()) * cellWidth(),
            plot.top() + (cell.query - window.top()) * cellHeight(), cellWidth(), cellHeight()};
}

QPointF HeatmapFigure::Layout::tokensAt(const QPointF& point) const {
    return {window.left() + (point.x() - plot.left()) / cellWidth(),
            window.top() + (point.y() - plot.top()) / cellHeight()};
}

void HeatmapFigure::setLabels(std::vector<QString> queries, std::vector<QString> keys) {
    queryLabels_ = std::move(queries);
    keyLabels_ = std::move(keys);
    widestAtSize_ = 0;
}

namespace {

QString labelAt(const std::vector<QString>& labels, int row) {
    return row >= 0 && static_cast<size_t>(row) < labels.size() ? labels[static_cast<size_t>(row)]
                                                                : QString::number(row);
}

} // namespace

QString HeatmapFigure::queryLabelOf(int query) const { return labelAt(queryLabels(), query); }
QString HeatmapFigure::keyLabelOf(int key) const { return labelAt(keyLabels(), key); }

QRectF HeatmapFigure::tokenRange() const {
    if (isEmpty()) return {0, 0, 1, 1};
    return {static_cast<double>(tile->keyBegin), static_cast<double>(tile->queryBegin),
            static_cast<double>(tile->keyEnd - tile->keyBegin), static_cast<double>(tile->queryEnd - tile->queryBegin)};
}

QRectF HeatmapFigure::wholeWindow() const { return queryCount > 0 ? QRectF(0, 0, keyCount, queryCount) : tokenRange(); }

const TileImage& HeatmapFigure::image() const {
    image_.update(tile, scale, colours, before);
    return image_;
}

std::optional<size_t> HeatmapFigure::pixelOf(const Cell& cell) const {
    if (isEmpty() || cell.query < tile->queryBegin || cell.query >= tile->queryEnd || cell.key < tile->keyBegin ||
        cell.key >= tile->keyEnd)
        return {};
    const size_t row = static_cast<size_t>(tilePixel(cell.query, tile->queryBegin, tile->queryEnd, tile->rows));
    const size_t column = static_cast<size_t>(tilePixel(cell.key, tile->keyBegin, tile->keyEnd, tile->columns));
    const size_t at = row * static_cast<size_t>(tile->columns) + column;
    return at < image().scaled().values.size() ? std::optional(at) : std::nullopt;
}

float HeatmapFigure::valueAt(const Cell& cell) const {
    const auto at = pixelOf(cell);
    return at ? image().scaled().values[*at] : std::numeric_limits<float>::quiet_NaN();
}

bool HeatmapFigure::isMasked(const Cell& cell) const {
    const auto at = pixelOf(cell);
    return at && image().scaled().levels[*at] == kNoLevel && !std::isnan(valueAt(cell));
}

double HeatmapFigure::widestLabel(const FigureTheme& theme) const {
    if (widestAtSize_ != theme.size) {
        widestAtSize_ = theme.size;
        widest_ = textWidth(QString::number(wholeWindow().bottom(), 'f', 0), theme.smallFont());
        // Longer labels are shortened in any case.
        const double enough = 14 * theme.size;
        for (const std::vector<QString>* labels : {&queryLabels_, &keyLabels_})
            for (const QString& label : *labels) {
                if (widest_ >= enough) break;
                widest_ = std::max(widest_, textWidth(label, theme.smallFont()));
            }
    }
    return widest_;
}

bool HeatmapFigure::keyLabelsLieFlat(double cellWidth, const FigureTheme& theme) const {
    return widestLabel(theme) + 6 <= cellWidth;
}

HeatmapFigure::Layout HeatmapFigure::layout(const QRectF& area, const FigureTheme& theme) const {
    Layout result;
    result.window = window.isNull() ? wholeWindow() : window;
    const double line = smallLine(theme), gap = spacing::kTight;
    const bool isRoomy = area.width() > kRoomyWidth * theme.size && area.height() > kRoomyHeight * theme.size;
    const double gutter =
        std::min(widestLabel(theme), std::max(2.5 * theme.size, std::min(area.width(), area.height()) * 0.2));

    const double barSpace = isRoomy ? kBarSpace * theme.size : gap;
    const double titleHeight = isRoomy && !title.isEmpty() ? std::round(theme.lineHeight() * 1.3) : 0;
    const double axisTitle = isRoomy ? line : 0;
    const double left = area.left() + gap + axisTitle + gutter + gap;
    const double right = area.right() - barSpace;
    const double roomRight = std::max(8.0, right - left);

    // Key labels are horizontal if the cells are wide enough, which leaves more height for the cells.
    const double columns = result.window.width(), rows = result.window.height();
    const auto topFor = [&](double labelHeight) {
        return area.top() + gap + titleHeight + axisTitle + labelHeight + gap;
    };
    const double largest = theme.fillsRoom ? std::max(roomRight, area.height()) : kLargestCell;
    const double stretch = theme.fillsRoom ? FigureTheme::kMostStretch : kMostStretch;
    const auto cellFor = [&](double labelHeight) {
        const double height = std::min(std::max(8.0, area.bottom() - gap - topFor(labelHeight)) / rows, largest);
        const double width = std::min({roomRight / columns, height * stretch, largest});
        return QSizeF(width, std::min(height, width * stretch));
    };
    const bool isFlat = keyLabelsLieFlat(cellFor(line).width(), theme);
    const double labelHeight = isFlat ? line : gutter;
    const QSizeF cell = cellFor(labelHeight);
    const double top = topFor(labelHeight);

    result.plot = QRectF(std::round(left), std::round(top), std::max(1.0, std::round(cell.width() * columns)),
                         std::max(1.0, std::round(cell.height() * rows)));
    result.keyLabels =
        QRectF(result.plot.left(), result.plot.top() - gap - labelHeight, result.plot.width(), labelHeight);
    result.queryLabels = QRectF(result.plot.left() - gap - gutter, result.plot.top(), gutter, result.plot.height());
    if (isRoomy) {
        result.title = QRectF(area.left() + gap, area.top() + gap, area.width() - 2 * gap, titleHeight);
        result.keyTitle = QRectF(result.plot.left(), area.top() + gap + titleHeight,
                                 std::max(result.plot.width(), 8 * theme.size), axisTitle);
        const double side = std::max(result.plot.height(), 5 * theme.size);
        result.queryTitle =
            QRectF(area.left() + gap, result.plot.top(), axisTitle, std::min(side, area.bottom() - result.plot.top()));
        result.bar = QRectF(result.plot.right() + 1.2 * theme.size, result.plot.top(), std::round(theme.size * 0.9),
                            std::min(std::max(result.plot.height(), 7 * theme.size),
                                     std::max(10.0, area.bottom() - gap - result.plot.top())));
    }
    return result;
}

QSizeF HeatmapFigure::pageSize(const QSizeF& onScreen, const FigureTheme& theme) const {
    if (isEmpty()) return onScreen;
    const QRectF shown = window.isNull() ? wholeWindow() : window;
    const double gap = spacing::kTight, side = std::max(shown.width(), shown.height());
    // Every token has a line for its label, unless the page would become too large to look at.
    double cell = std::max(layout(QRectF(QPointF(), onScreen), theme).cellWidth(), std::ceil(smallLine(theme)));
    cell = std::min(cell, std::max(1.0, kLargestPage / side));
    QSizeF page = onScreen;
    for (int round = 0; round < 3; ++round) { // the room for labels depends on the page, and the page on it
        const Layout at = layout(QRectF(QPointF(), page), theme);
        page = QSizeF(
            std::max(at.plot.left() + shown.width() * cell + kBarSpace * theme.size, kRoomyWidth * theme.size + 1),
            std::max(at.plot.top() + shown.height() * cell + gap, kRoomyHeight * theme.size + 1));
        page = QSizeF(std::ceil(page.width()), std::ceil(page.height()));
    }
    return page;
}

std::shared_ptr<const Figure> HeatmapFigure::copy() const {
    auto copied = std::make_shared<HeatmapFigure>(*this);
    copied->hovered.reset(); // marks of the pointer do not belong to the exported figure
    copied->linkedToken = -1;
    copied->hasFocus = false;
    return copied;
}

std::optional<Cell> HeatmapFigure::cellAt(const QPointF& point, const Layout& layout) const {
    if (isEmpty() || !layout.plot.contains(point) || point.x() >= layout.plot.right() ||
        point.y() >= layout.plot.bottom())
        return {};
    const QPointF tokens = layout.tokensAt(point);
    const Cell cell{static_cast<int>(std::floor(tokens.y())), static_cast<int>(std::floor(tokens.x()))};
    if (cell.query < tile->queryBegin || cell.query >= tile->queryEnd || cell.key < tile->keyBegin ||
        cell.key >= tile->keyEnd)
        return {};
    return cell;
}

void HeatmapFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    if (isEmpty()) return drawMessage(painter, area, tr("Nothing to show yet."), theme);
    const FigurePage page(painter, area, theme);
    const Layout at = layout(area, theme);
    drawLine(painter, at.title, kAtLeft, title, theme.titleFont(), theme.text);
    drawLine(painter, at.keyTitle, kAtLeft, tr("key →"), theme.smallFont(), theme.key);
    drawUpwards(painter, at.queryTitle, kAtRight, tr("← query"), theme.smallFont(), theme.query);
    paintAxis(painter, at, theme, true);
    paintAxis(painter, at, theme, false);
    paintCells(painter, at, theme);
    paintValues(painter, at, theme);
    paintMarks(painter, at, theme);
    paintBar(painter, at, theme);
}

void HeatmapFigure::paintCells(QPainter& painter, const Layout& at, const FigureTheme& theme) const {
    const TileImage& picture = image();
    const QRectF range = tokenRange(), visible = at.window & range;
    painter.fillRect(at.plot, theme.plot);
    if (picture.isEmpty() || visible.isEmpty()) return;
    const double pixelsPerKey = tile->columns / range.width(), pixelsPerQuery = tile->rows / range.height();
    const QRectF part((visible.left() - range.left()) * pixelsPerKey, (visible.top() - range.top()) * pixelsPerQuery,
                      visible.width() * pixelsPerKey, visible.height() * pixelsPerQuery);
    const QRectF target(at.plot.left() + (visible.left() - at.window.left()) * at.cellWidth(),
                        at.plot.top() + (visible.top() - at.window.top()) * at.cellHeight(),
                        visible.width() * at.cellWidth(), visible.height() * at.cellHeight());
    painter.save();
    painter.setClipRect(at.plot, Qt::IntersectClip);
    painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
    painter.setRenderHint(QPainter::Antialiasing, false);
    const QSizeF device = painter.worldTransform().mapRect(target).size() * painter.device()->devicePixelRatioF();
    if (part.width() > device.width() || part.height() > device.height()) {
        painter.drawImage(target, picture.pooled(part, {std::max(1, static_cast<int>(std::lround(device.width()))),
                                                        std::max(1, static_cast<int>(std::lround(device.height())))}));
    } else if (part.width() * part.height() <= kVectorCells) {
        const QImage& image = picture.image();
        const int top = static_cast<int>(part.top()), left = static_cast<int>(part.left());
        const int bottom = std::min(tile->rows, static_cast<int>(std::ceil(part.bottom()))),
                  right = std::min(tile->columns, static_cast<int>(std::ceil(part.right())));
        const auto x = [&](int column) {
            return std::round(target.left() + (column - part.left()) * target.width() / part.width());
        };
        const auto y = [&](int row) {
            return std::round(target.top() + (row - part.top()) * target.height() / part.height());
        };
        const bool isVector = drawsVectors(painter);
        const auto overlap = [&](int row, int column) { // overlaps the neighbour that is painted later
            const bool isPainted = row < bottom && column < right && qAlpha(image.pixel(column, row)) != 0;
            return isVector && isPainted ? kOverlap : 0.0;
        };
        for (int row = top; row < bottom; ++row)
            for (int column = left; column < right; ++column)
                if (const QRgb colour = image.pixel(column, row); qAlpha(colour) != 0)
                    painter.fillRect(QRectF(x(column), y(row), x(column + 1) - x(column) + overlap(row, column + 1),
                                            y(row + 1) - y(row) + overlap(row + 1, column)),
                                     QColor(colour));
    } else {
        painter.drawImage(target, picture.image(), part);
    }
    painter.restore();
    painter.setPen(QPen(theme.line, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(at.plot.adjusted(-0.5, -0.5, 0.5, 0.5));
}

void HeatmapFigure::paintValues(QPainter& painter, const Layout& at, const FigureTheme& theme) const {
    if (!tile->isExact() || image().isEmpty()) return;
    const QFont font = theme.smallFont();
    const QString widest = before ? QStringLiteral("+0.00") : QStringLiteral("0.00");
    if (at.cellWidth() < textWidth(widest, font) + 4 || at.cellHeight() < smallLine(theme)) return;
    const TileImage& picture = image();
    painter.save();
    painter.setClipRect(at.plot, Qt::IntersectClip);
    const int bottom = std::min(tile->queryEnd, static_cast<int>(std::ceil(at.window.bottom()))),
              right = std::min(tile->keyEnd, static_cast<int>(std::ceil(at.window.right())));
    for (int query = std::max(tile->queryBegin, static_cast<int>(at.window.top())); query < bottom; ++query)
        for (int key = std::max(tile->keyBegin, static_cast<int>(at.window.left())); key < right; ++key) {
            const QRgb colour = picture.image().pixel(key - tile->keyBegin, query - tile->queryBegin);
            if (qAlpha(colour) == 0) continue;
            const auto value = static_cast<double>(valueAt({query, key}));
            drawLine(painter, at.cellRect({query, key}), Qt::AlignCenter,
                     before ? formatChange(value) : formatProbability(value), font, inkOn(colour));
        }
    painter.restore();
}

void HeatmapFigure::paintMarks(QPainter& painter, const Layout& at, const FigureTheme& theme) const {
    painter.save();
    painter.setClipRect(at.plot.adjusted(-2, -2, 2, 2), Qt::IntersectClip);
    painter.setBrush(Qt::NoBrush);
    const auto band = [&](const QRectF& rect, const QColor& colour) {
        painter.setPen(QPen(colour, 1));
        painter.drawRect(rect.adjusted(-0.5, -0.5, 0.5, 0.5));
    };
    const auto row = [&](int query) {
        return QRectF(at.plot.left(), at.cellRect({query, 0}).top(), at.plot.width(), at.cellHeight());
    };
    const auto column = [&](int key) {
        return QRectF(at.cellRect({0, key}).left(), at.plot.top(), at.cellWidth(), at.plot.height());
    };
    if (linkedToken >= 0) {
        band(row(linkedToken), theme.query);
        if (!tile->isCross) band(column(linkedToken), theme.key);
    }
    if (hovered) {
        band(row(hovered->query), theme.query);
        band(column(hovered->key), theme.key);
    }
    if (selected) {
        const QRectF rect = at.cellRect(*selected);
        painter.setPen(QPen(theme.background, hasFocus ? 5 : 4));
        painter.drawRect(rect);
        painter.setPen(QPen(theme.accent, hasFocus ? 3 : 2));
        painter.drawRect(rect);
    }
    painter.restore();
}

void HeatmapFigure::paintAxis(QPainter& painter, const Layout& at, const FigureTheme& theme, bool isKeyAxis) const {
    const QFont font = theme.smallFont();
    const double line = smallLine(theme), cell = isKeyAxis ? at.cellWidth() : at.cellHeight();
    const bool isFlat = isKeyAxis && keyLabelsLieFlat(cell, theme);
    const double begin = isKeyAxis ? at.window.left() : at.window.top(),
                 end = isKeyAxis ? at.window.right() : at.window.bottom();
    const double origin = isKeyAxis ? at.plot.left() : at.plot.top(),
                 limit = isKeyAxis ? at.plot.right() : at.plot.bottom();
    const int first = std::max(static_cast<int>(std::floor(begin)),
                               static_cast<int>(isKeyAxis ? wholeWindow().left() : wholeWindow().top()));
    const int last = std::min(static_cast<int>(std::ceil(end)),
                              static_cast<int>(isKeyAxis ? wholeWindow().right() : wholeWindow().bottom()));
    const QColor& role = isKeyAxis ? theme.key : theme.query;

    std::vector<std::pair<double, double>> taken;
    const auto drawLabel = [&](int token, const QColor& colour, bool isMarked) {
        const double centre = origin + (token + 0.5 - begin) * cell, extent = isFlat ? cell : line;
        if (centre < origin || centre > limit) return;
        const double low = centre - extent / 2, high = centre + extent / 2;
        const double slack = isFlat ? 1.0 : line * 0.15; // lines of text can be close to one another
        for (const auto& [from, to] : taken)
            if (low < to - slack && high > from + slack) return;
        taken.emplace_back(low, high);
        const QString label = isKeyAxis ? keyLabelOf(token) : queryLabelOf(token);
        QFont used = font;
        if (isMarked) used.setBold(true);
        if (isFlat)
            drawLine(painter, QRectF(low, at.keyLabels.top(), extent, line), Qt::AlignCenter, label, used, colour);
        else if (isKeyAxis)
            drawUpwards(painter, QRectF(low, at.keyLabels.top(), extent, at.keyLabels.height()), kAtLeft, label, used,
                        colour);
        else
            drawLine(painter, QRectF(at.queryLabels.left(), low, at.queryLabels.width(), extent), kAtRight, label, used,
                     colour);
    };
    // The token under the pointer keeps its label. Of the others, every n-th that fits has one.
    const auto mark = [&](const std::optional<Cell>& marked, const QColor& colour) {
        if (marked) drawLabel(isKeyAxis ? marked->key : marked->query, colour, true);
    };
    mark(hovered, role);
    mark(selected, theme.accent);
    if (linkedToken >= first && linkedToken < last && !(isKeyAxis && tile->isCross)) drawLabel(linkedToken, role, true);
    const int step = isFlat ? 1 : std::max(1, static_cast<int>(std::ceil(line * 0.9 / cell)));
    for (int token = first + (step - first % step) % step; token < last; token += step)
        drawLabel(token, theme.text, false);
}

std::vector<Tick> HeatmapFigure::barTicks() const {
    if (before) {
        const QString end = formatNumber(static_cast<double>(range()), 2);
        return {{0, QStringLiteral("−") + end}, {0.5, QStringLiteral("0")}, {1, QStringLiteral("+") + end}};
    }
    switch (scale.kind) {
    case ScaleKind::Log:
        return {{0, QStringLiteral("≤.0001")},
                {0.25, QStringLiteral(".001")},
                {0.5, QStringLiteral(".01")},
                {0.75, QStringLiteral(".1")},
                {1, QStringLiteral("1")}};
    case ScaleKind::RowMaximum:
        return {{0, QStringLiteral("0")}, {1, tr("row max")}};
    case ScaleKind::Linear:
        break;
    }
    return {{0, QStringLiteral("0")}, {0.5, QStringLiteral("0.5")}, {1, QStringLiteral("1")}};
}

void HeatmapFigure::paintBar(QPainter& painter, const Layout& at, const FigureTheme& theme) const {
    if (!at.bar.isNull()) drawColourBar(painter, at.bar, barColours(), barTicks(), theme);
}

std::vector<QString> HeatmapFigure::rowNames() const {
    std::vector<QString> names;
    for (int row = 0; row < tile->rows; ++row) {
        const int token = tileToken(row, tile->queryBegin, tile->queryEnd, tile->rows);
        names.push_back(QStringLiteral("%1 %2").arg(token).arg(queryLabelOf(token)));
    }
    return names;
}

std::vector<QString> HeatmapFigure::columnNames() const {
    std::vector<QString> names;
    for (int column = 0; column < tile->columns; ++column) {
        const int token = tileToken(column, tile->keyBegin, tile->keyEnd, tile->columns);
        names.push_back(QStringLiteral("%1 %2").arg(token).arg(keyLabelOf(token)));
    }
    return names;
}

std::vector<QRgb> HeatmapFigure::cellColours() const {
    std::vector<QRgb> all;
    for (int row = 0; row < tile->rows; ++row)
        for (int column = 0; column < tile->columns; ++column) all.push_back(image().image().pixel(column, row));
    return all;
}

std::vector<float> HeatmapFigure::visibleValues() const {
    const ScaledTile& scaled = image().scaled();
    std::vector<float> values = scaled.values;
    for (size_t at = 0; at < values.size(); ++at)
        if (scaled.levels[at] == kNoLevel) values[at] = std::numeric_limits<float>::quiet_NaN();
    return values;
}

QString HeatmapFigure::csv() const {
    if (isEmpty() || image().isEmpty()) return {};
    const std::vector<float> values = visibleValues();
    QString text = csvText(QStringLiteral("query\\key"));
    for (const QString& name : columnNames()) text += ',' + csvText(name);
    text += QStringLiteral("\r\n");
    const std::vector<QString> names = rowNames();
    for (int row = 0; row < tile->rows; ++row) {
        text += csvText(names[static_cast<size_t>(row)]);
        for (int column = 0; column < tile->columns; ++column)
            text += ',' + csvNumber(values[static_cast<size_t>(row) * static_cast<size_t>(tile->columns) +
                                           static_cast<size_t>(column)]);
        text += QStringLiteral("\r\n");
    }
    return text;
}

std::vector<NumberArray> HeatmapFigure::numbers() const {
    if (isEmpty() || image().isEmpty()) return {};
    return {{before ? "pattern_change" : "pattern", {tile->rows, tile->columns}, visibleValues()}};
}

} // namespace attn
