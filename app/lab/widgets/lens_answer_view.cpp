#include "app/lab/widgets/lens_answer_view.h"

#include "app/figures/map_figure.h"
#include "app/lab/widgets/lines_view.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/widgets/widget_makers.h"

#include <QHeaderView>
#include <QTreeWidget>

#include <algorithm>

namespace attn {

LensAnswerView::LensAnswerView(const QString& name, QWidget* parent)
    : QWidget(parent), summary_(makeTextLabel(name + QStringLiteral("Summary"))),
      reading_(makeHintLabel(name + QStringLiteral("Reading"))), matrix_(new MatrixView), bars_(new LinesView),
      table_(new QTreeWidget) {
    setObjectName(name + QStringLiteral("Answer"));
    spoken(matrix_, name + "Matrix", tr("Result as a matrix"));
    named(bars_, name + "Bars", tr("Result as lines"));
    named(table_, name + "Table", tr("Result as a table"));
    table_->setRootIsDecorated(false);
    table_->setUniformRowHeights(true);
    table_->setMinimumHeight(fontMetrics().height() * 4);
    column_ = makeColumn(this, 0, {summary_, {matrix_, 3}, {bars_, 2}, {table_, 2}, reading_, room(0)});
    connect(matrix_, &MatrixView::pointedAt, this, [this](const std::optional<MatrixCell>& cell) {
        showReading();
        emit pointedAt(cell);
    });
    connect(matrix_, &MatrixView::activated, this, [this] {
        const MatrixFigure& figure = matrix_->figure();
        if (const auto& cell = figure.hovered ? figure.hovered : figure.selected) emit activated(*cell);
    });
    connect(bars_, &LinesView::pointedAt, this, &LensAnswerView::showReading);
    setAnswer({}, false);
}

void LensAnswerView::insert(QWidget* widget, int stretch) { column_->insertWidget(1, widget, stretch); }

void LensAnswerView::setTheme(const FigureTheme& theme) {
    matrix_->setTheme(theme);
    bars_->setTheme(theme);
}

void LensAnswerView::setNotice(const QString& notice) {
    notice_ = notice;
    showSummary();
}

void LensAnswerView::showSummary() {
    const bool hasBoth = !notice_.isEmpty() && !answer_.summary.isEmpty();
    summary_->setText(notice_ + (hasBoth ? QStringLiteral(" ") : QString()) + answer_.summary);
    summary_->setVisible(!summary_->text().isEmpty());
}

void LensAnswerView::setWaiting(const QString& text) {
    waiting_ = text;
    showReading();
}

void LensAnswerView::setAnswer(LensAnswer answer, bool isChange) {
    answer_ = std::move(answer);
    isChange_ = isChange;
    showSummary();
    matrix_->setVisible(!answer_.matrix.isEmpty());
    bars_->setVisible(!answer_.bars.isEmpty());
    table_->setVisible(!answer_.rows.empty());
    // A double click must not end on another cell, so a new reading must not move the matrix.
    const bool canPoint = !answer_.matrix.isEmpty() || !answer_.bars.isEmpty();
    reading_->setMinimumHeight(canPoint ? reading_->fontMetrics().lineSpacing() * (isChange ? 3 : 2) : 0);
    matrix_->setFigure(answer_.matrix);
    bars_->setFigure(answer_.bars);
    table_->clear();
    std::vector<ColumnTitle> titles;
    for (qsizetype column = 0; column < answer_.columns.size(); ++column)
        titles.push_back({answer_.columns[column], answer_.columnHelp.value(column)});
    if (!titles.empty()) titleColumns(*table_, titles);
    for (const QStringList& row : answer_.rows) {
        auto* item = new QTreeWidgetItem(table_, row);
        for (int column = 0; column < row.size(); ++column) item->setToolTip(column, row[column]);
    }
    // The first column holds short names. The others share the remaining width.
    for (int column = 0; column < answer_.columns.size(); ++column)
        table_->header()->setSectionResizeMode(column,
                                               column == 0 ? QHeaderView::ResizeToContents : QHeaderView::Stretch);
    showReading();
}

void LensAnswerView::showReading() {
    QString text;
    if (const auto& cell = matrix_->figure().hovered; cell && !matrix_->figure().isEmpty()) {
        const MatrixFigure& figure = matrix_->figure();
        text = tr("%1: %2").arg(placeOf(figure, *cell), valueText(figure, *cell));
        text[0] = text[0].toUpper();
        const auto at = static_cast<size_t>(cell->row * figure.columns() + cell->column);
        if (isChange_) text += QStringLiteral(" · ") + tr("double-click to add this change");
        if (at < answer_.remarks.size()) text += QStringLiteral(" · ") + answer_.remarks[at];
    } else if (const QString reading = bars_->reading(); !bars_->isHidden() && !reading.isEmpty()) {
        text = reading;
    } else if (answer_.summary.isEmpty()) {
        text = waiting_;
    }
    reading_->setText(text);
}

ExportNumbers LensAnswerView::numbers() const {
    LensFigure figure;
    figure.answer = answer_;
    ExportNumbers numbers = numbersOf(figure);
    if (answer_.matrix.isEmpty() && answer_.bars.isEmpty()) numbers.arrays = nullptr; // a table has no arrays
    return numbers;
}

} // namespace attn
