#include "app/figures/thumbnail_grid_figure.h"

#include "app/figures/difference.h"
#include "app/figures/drawing.h"
#include "app/figures/head_label.h"
#include "app/figures/heatmap_figure.h"
#include "app/figures/spacing.h"

#include <QFontMetricsF>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {
namespace {

constexpr double kGap = spacing::kTight;         ///< between thumbnails
constexpr double kSmallest = 22, kLargest = 200; ///< pixels across a thumbnail; the largest of a page

/// The mean or maximum of one layer's tiles, pixel by pixel.
std::shared_ptr<const PatternTile> aggregate(const PatternGrid& grid, int layer, HeadAggregate kind) {
    auto result = std::make_shared<PatternTile>(grid.at(layer, 0));
    result->head = -1;
    int counted = 1; // a layer may have fewer heads than the grid
    for (int head = 1; head < grid.heads; ++head) {
        const std::vector<float>& values = grid.at(layer, head).values;
        if (values.empty() || values.size() != result->values.size()) continue;
        ++counted;
        for (size_t i = 0; i < values.size(); ++i) {
            if (kind == HeadAggregate::Mean)
                result->values[i] += values[i];
            else
                result->values[i] = std::max(result->values[i], values[i]);
        }
    }
    if (kind == HeadAggregate::Mean)
        for (float& value : result->values) value /= static_cast<float>(counted);
    return result;
}

/// The heads' tiles, followed by the aggregates' tiles if there are several heads.
std::vector<std::shared_ptr<const PatternTile>> tilesOf(const std::shared_ptr<const PatternGrid>& grid) {
    std::vector<std::shared_ptr<const PatternTile>> tiles;
    for (int layer = 0; layer < grid->sites; ++layer) {
        for (int head = 0; head < grid->heads; ++head) tiles.emplace_back(grid, &grid->at(layer, head));
        if (grid->heads > 1)
            for (HeadAggregate kind : {HeadAggregate::Mean, HeadAggregate::Maximum})
                tiles.push_back(aggregate(*grid, layer, kind));
    }
    return tiles;
}

} // namespace

QString headTitle(const HeadChoice& choice, const QString& label) {
    const QString site = label.isEmpty() ? layerLabel(choice.site) : label;
    switch (choice.aggregate) {
    case HeadAggregate::Mean:
        return ThumbnailGridFigure::tr("%1, mean of heads").arg(site);
    case HeadAggregate::Maximum:
        return ThumbnailGridFigure::tr("%1, maximum of heads").arg(site);
    case HeadAggregate::None:
        break;
    }
    return QStringLiteral("%1 %2").arg(site, headColumnLabel(choice.head));
}

QString resolutionText(const PatternTile* tile) {
    if (!tile || tile->rows == 0 || tile->rows == tile->queryEnd - tile->queryBegin) return {};
    const int cells = (tile->queryEnd - tile->queryBegin + tile->rows - 1) / tile->rows;
    const QString pooled = ThumbnailGridFigure::tr(": each pixel shows the largest of %1 × %1 weights").arg(cells);
    if (tile->exactRows >= 1) return pooled;
    return pooled + ThumbnailGridFigure::tr(", %1 % of rows exact").arg(static_cast<int>(tile->exactRows * 100));
}

void ThumbnailGridFigure::setGrid(const std::shared_ptr<const PatternGrid>& grid,
                                  const std::shared_ptr<const PatternGrid>& before) {
    if (grid == grid_ && before == before_) return;
    grid_ = grid;
    const bool isComparable = !isEmpty() && before && before->sites == grid->sites && before->heads == grid->heads &&
                              before->tiles.size() == grid->tiles.size() &&
                              haveSameCells(before->tiles.front(), grid->tiles.front());
    before_ = isComparable ? before : nullptr;
    tiles_.clear();
    tilesBefore_.clear();
    range_.reset();
    if (isEmpty()) return thumbnails_.clear();
    tiles_ = tilesOf(grid_);
    if (before_) tilesBefore_ = tilesOf(before_);
    thumbnails_.resize(tiles_.size());
}

float ThumbnailGridFigure::range() const {
    if (!before_) return 0;
    if (!range_ || range_->first != scale) {
        float largest = kSmallestRange;
        for (size_t at = 0; at < tiles_.size(); ++at)
            largest = std::max(largest, largestDifference(*tiles_[at], *tilesBefore_[at], scale));
        range_ = {scale, largest};
    }
    return range_->second;
}

int ThumbnailGridFigure::columns() const { return isEmpty() ? 0 : grid_->heads + (grid_->heads > 1 ? 2 : 0); }

int ThumbnailGridFigure::columnOf(const HeadChoice& choice) const {
    if (isEmpty()) return 0;
    if (choice.aggregate == HeadAggregate::None || grid_->heads < 2)
        return std::clamp(choice.head, 0, grid_->heads - 1);
    return grid_->heads + (choice.aggregate == HeadAggregate::Maximum ? 1 : 0);
}

HeadChoice ThumbnailGridFigure::choiceOf(int layer, int column) const {
    if (isEmpty() || column < grid_->heads) return {layer, column, HeadAggregate::None};
    return {layer, selected.head, column == grid_->heads ? HeadAggregate::Mean : HeadAggregate::Maximum};
}

int ThumbnailGridFigure::groupSize() const {
    const bool hasGroups =
        !isEmpty() && keyValueHeads > 0 && keyValueHeads < grid_->heads && grid_->heads % keyValueHeads == 0;
    return hasGroups ? grid_->heads / keyValueHeads : 0;
}

QString ThumbnailGridFigure::siteLabel(int site) const {
    return static_cast<size_t>(site) < siteLabels.size() ? siteLabels[static_cast<size_t>(site)] : layerLabel(site);
}

double ThumbnailGridFigure::labelWidth(const FigureTheme& theme) const {
    double widest = 0;
    for (int site = 0; site < grid_->sites; ++site)
        widest = std::max(widest, textWidth(siteLabel(site), theme.smallFont()));
    return widest + 6;
}

double ThumbnailGridFigure::headerHeight(const FigureTheme& theme) const {
    const double line = std::ceil(QFontMetricsF(theme.smallFont()).height());
    return line + 4 + (groupSize() > 0 ? line + 8 : 0);
}

ThumbnailGridFigure::Layout ThumbnailGridFigure::layout(const QRectF& area, const FigureTheme& theme) const {
    Layout result;
    if (isEmpty()) return result;
    const double line = std::ceil(QFontMetricsF(theme.smallFont()).height()), margin = spacing::kGap;
    result.labelWidth = labelWidth(theme);
    result.aggregateGap = grid_->heads > 1 ? theme.size : 0;
    result.strip = readoutRows ? 6 : 0;
    const double top = area.top() + margin + headerHeight(theme), left = area.left() + margin + result.labelWidth;
    const double across = (area.right() - margin - left - result.aggregateGap) / columns() - kGap;
    const double down = (area.bottom() - margin - top) / grid_->sites - kGap - result.strip;
    const double least = std::max(std::min(across, down), kSmallest),
                 most = theme.fillsRoom ? least * FigureTheme::kMostStretch : std::min(least, kLargest);
    const QSizeF size(std::floor(std::clamp(across, std::min(least, most), most)),
                      std::floor(std::clamp(down, std::min(least, most), most)));
    result.origin = QRectF(QPointF(std::round(left), std::round(top)), size);
    result.stepX = size.width() + kGap;
    result.stepY = size.height() + kGap + result.strip;
    result.header = QRectF(result.origin.left(), result.origin.top() - line - 4, 0, line);
    result.brackets = QRectF(result.origin.left(), area.top() + margin, 0, line + 8);
    return result;
}

QRectF ThumbnailGridFigure::thumbnailRect(const Layout& at, int layer, int column) const {
    const double shift = grid_ && column >= grid_->heads ? at.aggregateGap : 0;
    return at.origin.translated(column * at.stepX + shift, layer * at.stepY);
}

std::optional<HeadChoice> ThumbnailGridFigure::choiceAt(const QPointF& point, const Layout& at) const {
    if (isEmpty()) return {};
    for (int column = 0; column < columns(); ++column) {
        const QRectF first = thumbnailRect(at, 0, column);
        if (point.x() < first.left() || point.x() >= first.right()) continue;
        const int layer = static_cast<int>(std::floor((point.y() - first.top()) / at.stepY));
        if (layer < 0 || layer >= grid_->sites ||
            point.y() - first.top() - layer * at.stepY >= first.height() + at.strip)
            return {};
        return hasTile(layer, column) ? std::optional(choiceOf(layer, column)) : std::nullopt;
    }
    return {};
}

HeatmapFigure ThumbnailGridFigure::heatmap(const HeadChoice& choice) const {
    HeatmapFigure head;
    head.tile = tile(choice);
    head.before = tileBefore(choice);
    head.title = headTitle(choice, siteLabel(choice.site)) + resolutionText(head.tile.get());
    head.scale = scale;
    head.colours = colours;
    const auto site = static_cast<size_t>(choice.site);
    if (site < words.size()) head.setLabels(words[site].queries, words[site].keys);
    return head;
}

bool ThumbnailGridFigure::hasTile(int layer, int column) const {
    return column >= grid_->heads || tiles_[static_cast<size_t>(layer * columns() + column)]->rows > 0;
}

QSizeF ThumbnailGridFigure::smallestSize(const FigureTheme& theme) const {
    if (isEmpty()) return {120, 80};
    const double margin = spacing::kGap;
    return {2 * margin + labelWidth(theme) + theme.size + columns() * (kSmallest + kGap),
            2 * margin + headerHeight(theme) + grid_->sites * (kSmallest + kGap + 6)};
}

const QImage& ThumbnailGridFigure::pixels(int layer, int column, const QSize& size) const {
    const size_t at = static_cast<size_t>(layer * columns() + column);
    thumbnails_[at].update(tiles_[at], scale, colours, before_ ? tilesBefore_[at] : nullptr, range());
    return thumbnails_[at].pooled(QRectF(QPointF(0, 0), QSizeF(thumbnails_[at].image().size())), size);
}

void ThumbnailGridFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    if (isEmpty()) return drawMessage(painter, area, tr("Type a prompt to see where each head looks."), theme);
    painter.save();
    painter.fillRect(area, theme.background);
    const Layout at = layout(area, theme);
    paintHeader(painter, at, theme);
    for (int layer = 0; layer < grid_->sites; ++layer) {
        const QRectF first = thumbnailRect(at, layer, 0);
        const QRectF label(first.left() - at.labelWidth, first.top(), at.labelWidth - 6, first.height());
        drawLine(painter, label, kAtRight, siteLabel(layer), theme.smallFont(), theme.faint);
        for (int column = 0; column < columns(); ++column) paintThumbnail(painter, at, theme, layer, column);
    }
    painter.restore();
}

void ThumbnailGridFigure::paintHeader(QPainter& painter, const Layout& at, const FigureTheme& theme) const {
    const QFont font = theme.smallFont();
    for (int column = 0; column < columns(); ++column) {
        const QRectF below = thumbnailRect(at, 0, column);
        const QRectF rect(below.left() - kGap / 2, at.header.top(), below.width() + kGap, at.header.height());
        const QString text = column < grid_->heads    ? headColumnLabel(column)
                             : column == grid_->heads ? tr("mean")
                                                      : tr("max");
        drawLine(painter, rect, Qt::AlignCenter, text, font, theme.faint);
    }
    const int size = groupSize();
    for (int group = 0; size > 0 && group < keyValueHeads; ++group) {
        const double left = thumbnailRect(at, 0, group * size).left() + 1,
                     right = thumbnailRect(at, 0, group * size + size - 1).right() - 1;
        const double y = at.brackets.bottom() - 3;
        painter.setPen(QPen(theme.key, 1.5));
        painter.drawPolyline(
            QPolygonF{QPointF(left, y + 4), QPointF(left, y), QPointF(right, y), QPointF(right, y + 4)});
        const QRectF room(left, at.brackets.top(), right - left, at.brackets.height() - 4);
        const QString full = tr("shared keys and values %1").arg(group);
        drawLine(painter, room, Qt::AlignCenter,
                 textWidth(full, font) <= room.width() ? full : QStringLiteral("KV%1").arg(group), font, theme.key);
    }
}

void ThumbnailGridFigure::paintThumbnail(QPainter& painter, const Layout& at, const FigureTheme& theme, int layer,
                                         int column) const {
    if (!hasTile(layer, column)) return;
    const QRectF rect = thumbnailRect(at, layer, column);
    const int group = groupSize();
    // Every other group of heads has a background in a tint of the keys' hue.
    if (group > 0 && column < grid_->heads && (column / group) % 2 == 1) {
        QColor tint = theme.key;
        tint.setAlphaF(0.16f);
        painter.fillRect(rect.adjusted(-kGap / 2, -kGap / 2, kGap / 2, kGap / 2 + at.strip), tint);
    }
    painter.fillRect(rect, theme.plot);
    const double ratio = painter.device()->devicePixelRatioF() * painter.worldTransform().m11();
    const auto pixelsOf = [ratio](double side) {
        return std::clamp(static_cast<int>(std::lround(side * ratio)), 1, 1024);
    };
    QSize size(pixelsOf(rect.width()), pixelsOf(rect.height()));
    if (theme.fillsRoom) { // the painter enlarges faster, and a key press draws all of them
        const PatternTile& tile = *tiles_[static_cast<size_t>(layer * columns() + column)];
        size = size.boundedTo({tile.columns, tile.rows});
    }
    painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
    painter.drawImage(rect, pixels(layer, column, size));
    if (at.strip > 0)
        paintStrip(painter, QRectF(rect.left(), rect.bottom() + 1, rect.width(), at.strip - 2), theme, layer, column);

    const HeadChoice choice = choiceOf(layer, column);
    if (column < grid_->heads && !kept.empty() && kept[static_cast<size_t>(layer * grid_->heads + column)] == 0) {
        painter.setPen(QPen(theme.accent, 2)); // removed
        painter.drawLine(rect.topLeft(), rect.bottomRight());
    }
    const bool isSelected = choice.site == selected.site && column == columnOf(selected);
    const bool isHovered = hovered && choice.site == hovered->site && column == columnOf(*hovered);
    painter.setBrush(Qt::NoBrush);
    if (isSelected) {
        painter.setPen(QPen(theme.accent, hasFocus ? 3 : 2));
        painter.drawRect(rect.adjusted(-1.5, -1.5, 1.5, 1.5));
    } else if (isHovered) {
        painter.setPen(QPen(theme.text, 1));
        painter.drawRect(rect.adjusted(-1, -1, 1, 1));
    }
}

void ThumbnailGridFigure::paintStrip(QPainter& painter, const QRectF& rect, const FigureTheme& theme, int layer,
                                     int column) const {
    if (!readoutRows || readoutRows->keys <= 0 || readoutRows->sites != grid_->sites ||
        readoutRows->heads != grid_->heads)
        return;
    const ReadoutRows* before = comparableRows();
    QColor ground = before ? theme.plot : theme.prediction; // prediction is too close to the red of an increase
    if (!before) ground.setAlphaF(static_cast<float>(0.12 + 0.4 * glow));
    painter.fillRect(rect, ground);
    const size_t keys = static_cast<size_t>(readoutRows->keys);
    const auto weight = [&](const ReadoutRows& rows, size_t key) {
        const float* first = rows.values.data() + static_cast<size_t>(layer * rows.heads) * keys + key;
        if (column < rows.heads) return first[static_cast<size_t>(column) * keys];
        float whole = 0;
        for (int head = 0; head < rows.heads; ++head, first += keys)
            whole = column == rows.heads ? whole + *first / static_cast<float>(rows.heads) : std::max(whole, *first);
        return whole;
    };
    const int count = std::min(readoutRows->keys, std::max(1, static_cast<int>(rect.width())));
    for (int i = 0; i < count; ++i) {
        const size_t begin = static_cast<size_t>(i) * keys / static_cast<size_t>(count),
                     end = std::max(begin + 1, static_cast<size_t>(i + 1) * keys / static_cast<size_t>(count));
        float strongest = 0;
        for (size_t key = begin; key < end; ++key) {
            if (key == 0 && scale.hidesFirst) continue;
            const float value = weight(*readoutRows, key) - (before ? weight(*before, key) : 0.0f);
            if (std::abs(value) > std::abs(strongest)) strongest = value;
        }
        QColor colour = before ? changeColour(strongest) : theme.prediction;
        // Square root, so that small weights are visible in a thin strip.
        colour.setAlphaF(std::sqrt(std::clamp(std::abs(strongest), 0.0f, 1.0f)));
        const double left = rect.left() + rect.width() * i / count,
                     right = rect.left() + rect.width() * (i + 1) / count;
        painter.fillRect(QRectF(left, rect.top(), right - left, rect.height()), colour);
    }
}

const ReadoutRows* ThumbnailGridFigure::comparableRows() const {
    return readoutRows && readoutBefore && haveSameCells(*readoutRows, *readoutBefore) ? readoutBefore.get() : nullptr;
}

std::vector<float> ThumbnailGridFigure::readoutValues() const {
    const ReadoutRows* before = comparableRows();
    return before ? changeOf(*readoutRows, *before) : readoutRows->values;
}

std::vector<float> ThumbnailGridFigure::visibleValues(int site, int head) const {
    const PatternTile& tile = grid_->at(site, head);
    const ScaledTile scaled =
        before_ ? scaleDifference(tile, before_->at(site, head), scale, range()) : scaleTile(tile, scale);
    std::vector<float> values = scaled.values;
    for (size_t at = 0; at < values.size(); ++at)
        if (scaled.levels[at] == kNoLevel) values[at] = std::numeric_limits<float>::quiet_NaN();
    return values;
}

QString ThumbnailGridFigure::csv() const {
    if (!hasNumbers()) return {};
    const bool isExact = std::ranges::all_of(grid_->tiles, &PatternTile::isExact);
    const char* what = before_ ? "change" : isExact ? "weight" : "largest_weight";
    QString text = QStringLiteral("layer,head,%1,%2\r\n")
                       .arg(isExact ? "query,key" : "first_query,last_query,first_key,last_key", what);
    const auto place = [isExact](int pixel, int pixels, int begin, int end) {
        const int first = tileToken(pixel, begin, end, pixels);
        if (isExact) return QString::number(first);
        const int next = pixel + 1 < pixels ? tileToken(pixel + 1, begin, end, pixels) : end;
        return QStringLiteral("%1,%2").arg(first).arg(next - 1);
    };
    for (int site = 0; site < grid_->sites; ++site)
        for (int head = 0; head < grid_->heads; ++head) {
            const PatternTile& tile = grid_->at(site, head);
            const std::vector<float> values = visibleValues(site, head);
            size_t at = 0;
            for (int row = 0; row < tile.rows; ++row) {
                const QString begin = QStringLiteral("%1,%2,%3,")
                                          .arg(site)
                                          .arg(head)
                                          .arg(place(row, tile.rows, tile.queryBegin, tile.queryEnd));
                for (int column = 0; column < tile.columns; ++column)
                    text += begin + place(column, tile.columns, tile.keyBegin, tile.keyEnd) + ',' +
                            csvNumber(values[at++]) + QStringLiteral("\r\n");
            }
        }
    return text;
}

std::vector<NumberArray> ThumbnailGridFigure::numbers() const {
    if (!hasNumbers()) return {};
    const bool isExact = std::ranges::all_of(grid_->tiles, &PatternTile::isExact);
    const std::string name = std::string(isExact ? "pattern" : "pattern_pooled") + (before_ ? "_change" : "");
    const auto hasShape = [&](const PatternTile& tile) {
        return tile.rows == grid_->tiles.front().rows && tile.columns == grid_->tiles.front().columns;
    };
    const bool isEven = std::ranges::all_of(grid_->tiles, hasShape); // otherwise there is one array per site
    std::vector<NumberArray> arrays;
    for (int site = 0; site < grid_->sites; ++site) {
        const PatternTile& tile = grid_->at(site, 0);
        if (site == 0 || !isEven)
            arrays.push_back({.name = isEven ? name : name + "." + siteLabel(site).replace(' ', '_').toStdString(),
                              .shape = {grid_->heads, tile.rows, tile.columns},
                              .values = {}});
        for (int head = 0; head < grid_->heads; ++head) {
            std::vector<float> values = visibleValues(site, head);
            values.resize(static_cast<size_t>(tile.rows) * static_cast<size_t>(tile.columns),
                          std::numeric_limits<float>::quiet_NaN()); // a site may have fewer heads
            arrays.back().values.insert(arrays.back().values.end(), values.begin(), values.end());
        }
    }
    if (isEven) arrays.front().shape.insert(arrays.front().shape.begin(), grid_->sites);
    if (readoutRows && readoutRows->keys > 0)
        arrays.push_back({comparableRows() ? "readout_row_change" : "readout_row",
                          {readoutRows->sites, readoutRows->heads, readoutRows->keys},
                          readoutValues()});
    return arrays;
}

} // namespace attn
