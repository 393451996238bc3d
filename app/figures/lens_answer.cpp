#include "app/figures/lens_answer.h"

#include "app/figures/drawing.h"

#include <QCoreApplication>
#include <QPainter>

#include <algorithm>
#include <utility>

namespace attn {
namespace {

struct LensChangeText {
    Q_DECLARE_TR_FUNCTIONS(attn::LensChange)
};

QString both(const QString& after, const QString& before) {
    return after == before ? after : LensChangeText::tr("Changed: %1 Original: %2").arg(after, before);
}

void subtract(MatrixFigure& matrix, const MatrixFigure& before) {
    if (matrix.isEmpty() || matrix.rows() != before.rows() || matrix.columns() != before.columns()) return;
    std::vector<float> values;
    for (int row = 0; row < matrix.rows(); ++row)
        for (int column = 0; column < matrix.columns(); ++column)
            values.push_back(matrix.valueAt({row, column}) - before.valueAt({row, column}));
    matrix.kind = MatrixFigure::Kind::Signed;
    matrix.title = LensChangeText::tr("%1: changed − original").arg(matrix.title);
    matrix.setMatrix(matrix.rows(), matrix.columns(), std::move(values));
}

void subtract(LinesFigure& bars, const LinesFigure& before) {
    if (bars.placeNames != before.placeNames) bars.lines.clear(); // the places are others
    std::vector<LinesFigure::Line> changes;
    for (LinesFigure::Line line : bars.lines) {
        const auto other = std::ranges::find(before.lines, line.label, &LinesFigure::Line::label);
        if (other == before.lines.end() || other->values.size() != line.values.size()) continue;
        for (size_t i = 0; i < line.values.size(); ++i) line.values[i] -= other->values[i];
        changes.push_back(std::move(line));
    }
    if (changes.empty()) return;
    bars.title = LensChangeText::tr("%1: changed − original").arg(bars.title);
    bars.lines = std::move(changes);
}

/// Joins two tables of names and numbers: each row gets both numbers and their difference.
void join(LensAnswer& answer, const LensAnswer& before) {
    if (answer.columns.size() != 2 || answer.columns != before.columns) return;
    const QString number = answer.columns[1];
    answer.columns = {answer.columns[0], LensChangeText::tr("%1 (changed)").arg(number), LensChangeText::tr("Original"),
                      LensChangeText::tr("Difference")};
    for (QStringList& row : answer.rows) {
        const auto other =
            std::ranges::find_if(before.rows, [&](const QStringList& each) { return each[0] == row[0]; });
        bool isNumber = false, isOtherNumber = false;
        const double value = row[1].toDouble(&isNumber),
                     earlier = other == before.rows.end() ? 0 : (*other)[1].toDouble(&isOtherNumber);
        row << (other == before.rows.end() ? QStringLiteral("–") : (*other)[1])
            << (isNumber && isOtherNumber ? formatNumber(value - earlier, 4) : QStringLiteral("–"));
    }
}

} // namespace

std::vector<const Figure*> LensFigure::parts() const {
    std::vector<const Figure*> parts;
    if (!overlay.isEmpty()) parts.push_back(&overlay);
    if (!answer.matrix.isEmpty()) parts.push_back(&answer.matrix);
    if (!answer.bars.isEmpty()) parts.push_back(&answer.bars);
    return parts;
}

void LensFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    const std::vector<const Figure*> all = parts();
    if (all.empty()) painter.fillRect(area, theme.background);
    const double height = area.height() / static_cast<double>(std::max<size_t>(all.size(), 1));
    for (size_t i = 0; i < all.size(); ++i)
        all[i]->paint(painter, {area.left(), area.top() + static_cast<double>(i) * height, area.width(), height},
                      theme);
}

bool LensFigure::hasNumbers() const { return !parts().empty() || !answer.rows.empty(); }

QString LensFigure::csv() const {
    if (!answer.matrix.isEmpty()) return answer.matrix.csv();
    if (!answer.bars.isEmpty()) return answer.bars.csv();
    if (answer.rows.empty()) return overlay.csv();
    QString text = answer.columns.join(',') + '\n';
    for (const QStringList& row : answer.rows) {
        QStringList cells;
        for (QString cell : row) cells << '"' + cell.replace('"', "\"\"") + '"';
        text += cells.join(',') + '\n';
    }
    return text;
}

std::vector<NumberArray> LensFigure::numbers() const {
    std::vector<NumberArray> all = answer.matrix.isEmpty() ? answer.bars.numbers() : answer.matrix.numbers();
    for (NumberArray& array : overlay.numbers())
        all.push_back({.name = "overlay", .shape = array.shape, .values = std::move(array.values)});
    return all;
}

LensAnswer changeOf(const LensAnswer& after, const LensAnswer& before) {
    LensAnswer answer = after;
    answer.summary = both(after.summary, before.summary);
    if (after.remarks.size() == before.remarks.size())
        for (size_t cell = 0; cell < answer.remarks.size(); ++cell)
            answer.remarks[cell] =
                after.remarks[cell] == before.remarks[cell]
                    ? after.remarks[cell]
                    : LensChangeText::tr("changed: %1; original: %2").arg(after.remarks[cell], before.remarks[cell]);
    subtract(answer.matrix, before.matrix);
    subtract(answer.bars, before.bars);
    join(answer, before);
    return answer;
}

PatchOverlayFigure changeOf(const PatchOverlayFigure& after, const PatchOverlayFigure& before) {
    if (after.values().size() != before.values().size()) return after;
    PatchOverlayFigure change = after;
    std::vector<float> values = after.values();
    for (size_t patch = 0; patch < values.size(); ++patch) values[patch] -= before.values()[patch];
    change.isSigned = true;
    change.setValues(after.rows(), after.columns(), std::move(values));
    return change;
}

} // namespace attn
