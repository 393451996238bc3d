#include "app/figures/matrix_figure.h"

#include "app/figures/drawing.h"
#include "app/figures/spacing.h"

#include <QFontMetricsF>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr float kGoldenTurn = 0.618034f;          ///< of a circle of hues, so that successive numbers differ clearly
constexpr double kBarRoom = 5;                    ///< of a colour bar with its numbers, in sizes of text
constexpr double kLeastWord = 2.5, kMostWord = 6; ///< widths of cells with words, in sizes of text

/// Decimals of a number on colour bars and in cells, if the largest is `end`.
int decimalsUpTo(float end) { return end < 0.095f ? 4 : end < 10 ? 2 : end < 1000 ? 1 : 0; }

/// The width of the largest index of so many rows or columns.
double numberWidth(int count, const FigureTheme& theme) {
    return textWidth(QString::number(count - 1), theme.smallFont()) + 4;
}

} // namespace

void MatrixFigure::setMatrix(int rows, int columns, std::vector<float> values) {
    rows_ = rows;
    columns_ = columns;
    values_ = std::move(values);
    largest_ = {};
    for (size_t i = 0; i < values_.size(); ++i) {
        float& largest = largest_[static_cast<int>(i) % columns_ < firstAside() ? 0 : 1];
        if (std::isfinite(values_[i])) largest = std::max(largest, std::abs(values_[i]));
    }
}

float MatrixFigure::valueAt(const MatrixCell& cell) const {
    return values_[static_cast<size_t>(cell.row) * static_cast<size_t>(columns_) + static_cast<size_t>(cell.column)];
}

float MatrixFigure::largest(int column) const {
    const float largest = std::max(leastScale, largest_[column < firstAside() ? 0 : 1]);
    return kind == Kind::Cells || largest == 0 ? 1.0f : largest;
}

void shareScale(MatrixFigure& a, MatrixFigure& b) {
    if (a.isEmpty() || b.isEmpty() || a.kind != b.kind) return;
    a.leastScale = b.leastScale = std::max(a.largest(), b.largest());
}

QColor MatrixFigure::colourOf(float value, const FigureTheme& theme) const { return palette(theme).of(value); }

MatrixFigure::Palette MatrixFigure::palette(const FigureTheme& theme, int column) const {
    const ColourMap& viridis = ColourMap::of(ColourMapId::Viridis);
    return {.kind = kind,
            .map = kind == Kind::Signed ? ColourMap::of(ColourMapId::Diverging) : viridis,
            .largest = largest(column),
            .hidden = theme.plot.rgb(),
            .seen = viridis.at(theme.isDark ? 0.6f : 0.35f)};
}

QRgb MatrixFigure::Palette::of(float value) const {
    if (std::isnan(value)) return hidden;
    if (kind == Kind::Signed) return map.at(0.5f + 0.5f * value / largest);
    // Cells that are not visible look like masked cells in other figures.
    if (kind == Kind::Cells) return value == 0 ? hidden : seen;
    if (kind == Kind::Groups) return QColor::fromHsvF(std::fmod(value * kGoldenTurn, 1.0f), 0.55f, 0.85f).rgb();
    return map.at(value / largest);
}

QImage MatrixFigure::cells(const FigureTheme& theme) const {
    const Palette colours = palette(theme), coloursAside = palette(theme, columns_ - 1);
    const int first = firstAside();
    QImage image(columns_, rows_, QImage::Format_RGB32);
    const float* value = values_.data();
    for (int row = 0; row < rows_; ++row) {
        auto* pixels = reinterpret_cast<QRgb*>(image.scanLine(row));
        for (int column = 0; column < columns_; ++column)
            pixels[column] = (column < first ? colours : coloursAside).of(*value++);
    }
    return image;
}

QRectF MatrixFigure::Layout::cellRect(const MatrixCell& cell) const {
    const double left = plot.left() + cell.column * cellWidth + (cell.column < firstAside ? 0 : gap);
    return {left, plot.top() + cell.row * cellHeight, cellWidth, cellHeight};
}

MatrixFigure::Layout MatrixFigure::layout(const QRectF& area, const FigureTheme& theme) const {
    Layout result;
    const double gap = spacing::kTight, line = smallLine(theme);
    const bool isRoomy = area.width() > 12 * theme.size && area.height() > 9 * theme.size;
    // Only names tell rows and columns such as "L2" and "H3" apart: a small figure has room for them, too.
    const bool keepsNames = rowsAreNamed && columnsAreNamed;
    const double share = isRoomy || !keepsNames ? 0.2 : 0.33; // of the area, for labels
    const auto roomFor = [&](const std::vector<QString>& labels, double most) {
        double widest = 0;
        for (const QString& label : labels) widest = std::max(widest, textWidth(label, theme.smallFont()) + 4);
        const double room = std::min(widest, most);
        // A label cut to a few letters would waste the room of cells.
        return isRoomy ? (room >= std::min(widest, 2.5 * theme.size) ? room : 0)
                       : (keepsNames && room == widest ? room : 0);
    };
    const bool showsNumbers = isRoomy && numbersAxes && !isEmpty();
    result.rowLabels = showsNumbers && rowLabels.empty()
                           ? numberWidth(rows_, theme)
                           : roomFor(rowLabels, std::min(9 * theme.size, share * area.width()));
    const bool arePairs = std::ranges::any_of(columnLabels, isPairLabel); // each name has a part of the room
    result.columnLabels =
        showsNumbers && columnLabels.empty()
            ? line // numbers lie flat
            : roomFor(columnLabels, std::min((arePairs ? 9 : 6) * theme.size,
                                             (arePairs ? 0.3 : share) * std::min(area.width(), area.height())));
    if (result.columnLabels > 0) result.columnLabels = std::max(result.columnLabels, line + 2); // also upright
    const double titleHeight = title.isEmpty() ? 0 : std::round(theme.lineHeight());
    const double noteHeight = note.isEmpty() ? 0 : line;
    const double side = isRoomy ? line + gap : 0; // room for the names and numbers of the axes
    // Without a bar its room stays free, so that cells are as large as those of other maps.
    const double barSpace = isRoomy ? (aside ? 2 : 1) * kBarRoom * theme.size : gap;
    const double width = area.width() - 2 * gap;
    result.title = QRectF(area.left() + gap, area.top() + gap, width, titleHeight);
    result.note = QRectF(area.left() + gap, area.top() + gap + titleHeight, width, noteHeight);
    const double left = side + result.rowLabels, above = titleHeight + noteHeight + side + result.columnLabels;
    const QRectF room(area.left() + gap + left, area.top() + gap + above, std::max(8.0, width - left - barSpace),
                      std::max(8.0, area.height() - 2 * gap - above));
    if (rows_ > 0 && columns_ > 0) {
        if (aside) result.gap = spacing::kGap;
        result.firstAside = firstAside();
        const double cell = std::min({(room.width() - result.gap) / columns_, room.height() / rows_, largestCell});
        // Cells are square unless the plot would become a sliver. An output of 256 tokens by 16 features has cells that
        // are wider than high, and maps of layers by many tokens have rows that a pointer can hit.
        const double least = std::min(4 * theme.size, std::min(room.width(), room.height()));
        // On screen, cells stretch in one direction to fill the room.
        const double longest =
            theme.fillsRoom && !isBand() && !aside ? std::min(cell * FigureTheme::kMostStretch, largestCell) : cell;
        const double widest = words.empty() || isBand() ? longest : std::max(longest, kMostWord * theme.size);
        const double across = std::clamp(room.width() / columns_, cell, widest);
        const double row = isBand() ? std::max(cell, std::min(line, room.height() / rows_))
                                    : std::clamp(room.height() / rows_, cell, longest);
        result.plot = QRectF(std::round(room.left()), std::round(room.top()),
                             std::round(std::max(across * columns_, least)) + result.gap,
                             std::round(std::max(row * rows_, std::min(least, line))));
        result.cellWidth = (result.plot.width() - result.gap) / columns_;
        result.cellHeight = result.plot.height() / rows_;
    }
    if (isRoomy && kind != Kind::Cells && kind != Kind::Groups)
        result.bar = QRectF(result.plot.right() + spacing::kGap, result.plot.top(), std::round(theme.size * 0.8),
                            std::min(std::max(result.plot.height(), 5 * theme.size), room.height()));
    if (aside && !result.bar.isNull()) result.asideBar = result.bar.translated(kBarRoom * theme.size, 0);
    return result;
}

std::optional<MatrixCell> MatrixFigure::cellAt(const QPointF& point, const Layout& at) const {
    if (isEmpty() || !at.plot.contains(point)) return {};
    double across = point.x() - at.plot.left();
    if (const double before = at.firstAside * at.cellWidth; across >= before) {
        across -= at.gap;
        if (across < before) return {};
    }
    return MatrixCell{std::min(rows_ - 1, static_cast<int>((point.y() - at.plot.top()) / at.cellHeight)),
                      std::min(columns_ - 1, static_cast<int>(across / at.cellWidth))};
}

void MatrixFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    if (isEmpty()) return drawMessage(painter, area, note.isEmpty() ? tr("Nothing to show yet.") : note, theme);
    const FigurePage page(painter, area, theme);
    const Layout at = layout(area, theme);
    drawLine(painter, at.title, kAtLeft, title, theme.titleFont(), theme.text);
    drawLine(painter, at.note, kAtLeft, note, theme.smallFont(), theme.faint);

    paintCells(painter, at, theme);
    paintValues(painter, at, theme);
    for (int column = borderEvery; borderEvery > 0 && column < columns_; column += borderEvery) {
        const double x = at.cellRect({0, column}).left();
        painter.setPen(QPen(theme.text, 2));
        painter.drawLine(QPointF(x, at.plot.top()), QPointF(x, at.plot.bottom()));
    }
    if (beyondRow && *beyondRow < rows_) {
        const double y = at.plot.top() + *beyondRow * at.cellHeight;
        painter.setPen(QPen(theme.text, 1, Qt::DashLine));
        painter.drawLine(QPointF(at.plot.left(), y), QPointF(at.plot.right(), y));
    }

    for (const auto& [marked, colour, width] :
         {std::tuple(hovered, theme.text, 1), std::tuple(selected, theme.accent, 2)}) {
        if (!marked || marked->row >= rows_ || marked->column >= columns_) continue;
        const QRectF rect = at.cellRect(*marked).adjusted(-1, -1, 1, 1);
        painter.setPen(QPen(theme.background, width + 2));
        painter.drawRect(rect);
        painter.setPen(QPen(colour, hasFocus ? width + 1 : width));
        painter.drawRect(rect);
    }
    paintAxes(painter, at, theme);
    paintLabels(painter, at, theme, true);
    paintLabels(painter, at, theme, false);
    paintBar(painter, at.bar, 0, theme);
    paintBar(painter, at.asideBar, columns_ - 1, theme);
}

void MatrixFigure::paintCells(QPainter& painter, const Layout& at, const FigureTheme& theme) const {
    const QImage image = cells(theme);
    painter.setRenderHint(QPainter::SmoothPixmapTransform, at.cellWidth < 1 || at.cellHeight < 1);
    for (const auto& [first, last] : {std::pair(0, firstAside()), std::pair(firstAside(), columns_)}) {
        if (first == last) continue;
        QRectF part = at.cellRect({0, first});
        part.setSize({(last - first) * at.cellWidth, at.plot.height()});
        painter.drawImage(part, image, QRectF(first, 0, last - first, rows_));
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(theme.line, 1));
        painter.drawRect(part.adjusted(-0.5, -0.5, 0.5, 0.5));
    }
}

void MatrixFigure::paintValues(QPainter& painter, const Layout& at, const FigureTheme& theme) const {
    if (at.cellHeight < smallLine(theme)) return;
    if (!words.empty()) return paintWords(painter, at, theme);
    if (!writesValues) return;
    const QFont font = theme.smallFont();
    const auto textOf = [&](float value, int column) {
        return formatNumber(static_cast<double>(value), decimalsUpTo(largest(column)));
    };
    for (const int column : {0, columns_ - 1})
        if (textWidth(textOf(-largest(column), column), font) + 4 > at.cellWidth) return;
    for (int row = 0; row < rows_; ++row)
        for (int column = 0; column < columns_; ++column)
            if (const float value = valueAt({row, column}); !std::isnan(value))
                drawLine(painter, at.cellRect({row, column}), Qt::AlignCenter, textOf(value, column), font,
                         inkOn(palette(theme, column).of(value)));
}

void MatrixFigure::paintWords(QPainter& painter, const Layout& at, const FigureTheme& theme) const {
    if (at.cellWidth < kLeastWord * theme.size) return; // a letter says nothing
    for (int row = 0; row < rows_; ++row)
        for (int column = 0; column < columns_; ++column)
            drawLine(painter, at.cellRect({row, column}).adjusted(2, 0, -2, 0), Qt::AlignCenter,
                     words[static_cast<size_t>(row * columns_ + column)], theme.smallFont(),
                     inkOn(palette(theme, column).of(valueAt({row, column}))));
}

/// Draws the colour bar of a column, which all columns with the same scale share.
void MatrixFigure::paintBar(QPainter& painter, const QRectF& bar, int column, const FigureTheme& theme) const {
    if (bar.isNull()) return;
    const auto end = static_cast<double>(largest(column));
    const int decimals = decimalsUpTo(largest(column));
    const bool isSigned = kind == Kind::Signed;
    std::vector<Tick> ticks{{1, formatNumber(end, decimals)},
                            {0, formatNumber(isSigned ? -end : 0, isSigned ? decimals : 0)}};
    if (isSigned) ticks.push_back({0.5, QStringLiteral("0")});
    drawColourBar(painter, bar, ColourMap::of(isSigned ? ColourMapId::Diverging : ColourMapId::Viridis), ticks, theme);
    if (!aside) return;
    const double line = smallLine(theme);
    drawLine(painter, {bar.left(), bar.top() - 1.5 * line, (kBarRoom - 0.5) * theme.size, line}, kAtLeft,
             column < firstAside() ? aside->others : aside->name, theme.smallFont(), theme.faint);
}

/// Draws the title of each axis, with its first and last number if its rows or columns have no names.
void MatrixFigure::paintAxes(QPainter& painter, const Layout& at, const FigureTheme& theme) const {
    const double line = smallLine(theme), above = at.plot.top() - at.columnLabels - line - 2,
                 beside = at.plot.left() - at.rowLabels - line - 2;
    if (above < at.note.bottom() - 1) return;
    const QFont font = theme.smallFont();
    const auto name = [](const QString& what, int last) {
        return last == 0 ? what : QStringLiteral("%1 0–%2").arg(what).arg(last);
    };
    drawLine(painter, {at.plot.left(), above, std::max(at.plot.width(), 8 * theme.size), line}, kAtLeft,
             name(columnTitle, at.columnLabels > 0 ? 0 : columns_ - 1) + QStringLiteral(" →"), font, theme.key);
    drawUpwards(painter, {beside, at.plot.top(), line, std::max(at.plot.height(), line)}, kAtRight,
                QStringLiteral("← ") + name(rowTitle, at.rowLabels > 0 ? 0 : rows_ - 1), font, theme.query);
}

/// Draws the names of rows or columns: that of the cell under the pointer, and every n-th that fits.
void MatrixFigure::paintLabels(QPainter& painter, const Layout& at, const FigureTheme& theme, bool isRows) const {
    const std::vector<QString>& labels = isRows ? rowLabels : columnLabels;
    const double room = isRows ? at.rowLabels : at.columnLabels, cell = isRows ? at.cellHeight : at.cellWidth;
    if (room <= 0) return;
    const int all = isRows ? rows_ : columns_;
    const bool areNumbers = labels.empty(), areFlat = areNumbers && !isRows;
    // Lines of text can be close to one another.
    const double height = smallLine(theme), least = areFlat ? numberWidth(all, theme) : 0.8 * height;
    // Labels that are all narrower than their columns are easier to read upright.
    const bool fit = !isRows && std::ranges::all_of(labels, [&](const QString& label) {
        return textWidth(label, theme.smallFont()) + 4 <= cell;
    });
    const auto middle = [&](int index) {
        return (index + 0.5) * cell + (isRows || index < at.firstAside ? 0 : at.gap);
    };
    const auto draw = [&](int index, const QColor& colour, bool isBold) {
        QFont font = theme.smallFont();
        font.setBold(isBold);
        const double begin = middle(index) - height / 2;
        const QString label = areNumbers ? QString::number(index)
                              : fit      ? labels[static_cast<size_t>(index)]
                                         : fittedLabel(labels[static_cast<size_t>(index)], font, room - 3);
        if (isRows)
            drawLine(painter, {at.plot.left() - room, at.plot.top() + begin, room - 3, height}, kAtRight, label, font,
                     colour);
        else if (areFlat)
            drawLine(painter, {at.plot.left() + middle(index) - least, at.plot.top() - room, 2 * least, height},
                     Qt::AlignCenter, label, font, colour);
        else if (fit)
            drawLine(painter, {at.plot.left() + middle(index) - cell / 2, at.plot.top() - height - 2, cell, height},
                     Qt::AlignCenter, label, font, colour);
        else
            drawUpwards(painter, {at.plot.left() + begin, at.plot.top() - room, height, room - 3}, kAtLeft, label, font,
                        colour);
    };
    const int count = areNumbers ? all : std::min(static_cast<int>(labels.size()), all);
    int pointed = hovered ? (isRows ? hovered->row : hovered->column) : -1;
    if (pointed >= count) pointed = -1;
    const int step = std::max(1, static_cast<int>(std::ceil(least / cell)));
    for (int index = 0; index < count; index += step)
        if (pointed < 0 || std::abs(middle(index) - middle(pointed)) >= least) draw(index, theme.text, false);
    if (pointed >= 0) draw(pointed, isRows ? theme.query : theme.key, true);
}

QString MatrixFigure::rowName(int row) const {
    const auto at = static_cast<size_t>(row);
    if (rowsAreNamed) return rowLabels.at(at);
    return at < rowLabels.size() ? QStringLiteral("%1 “%2”").arg(row).arg(rowLabels[at]) : QString::number(row);
}

QString MatrixFigure::columnName(int column) const {
    const auto at = static_cast<size_t>(column);
    if (columnsAreNamed) return columnLabels.at(at);
    return at < columnLabels.size() ? QStringLiteral("%1 “%2”").arg(column).arg(columnLabels[at])
                                    : QString::number(column);
}

QString MatrixFigure::csv() const {
    QString text;
    for (int column = 0; column < columns_; ++column) text += QStringLiteral(",%1").arg(column);
    if (!text.isEmpty()) text += QStringLiteral("\r\n");
    for (int row = 0; row < rows_; ++row) {
        text += QString::number(row);
        for (int column = 0; column < columns_; ++column) text += ',' + csvNumber(valueAt({row, column}));
        text += QStringLiteral("\r\n");
    }
    return text;
}

std::vector<NumberArray> MatrixFigure::numbers() const {
    if (isEmpty()) return {};
    return {{.name = title.toStdString(), .shape = {rows_, columns_}, .values = values_}};
}

} // namespace attn
