#include "app/lab/widgets/mask_painter.h"

#include "app/lab/widgets/flow_layout.h"
#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/attention/catalogue.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/attention/mask/painted.h"
#include "engine/core/error.h"
#include "engine/playground/mask_reach.h"

#include <QCheckBox>
#include <QComboBox>
#include <QJsonArray>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QSignalBlocker>
#include <QSpinBox>

#include <algorithm>
#include <utility>

namespace attn {

MaskCanvas::MaskCanvas(QWidget* parent) : MatrixView(parent) { setCursor(Qt::CrossCursor); }

void MaskCanvas::setCells(int tokens, std::vector<float> cells) {
    tokens_ = tokens;
    cells_ = std::move(cells);
    from_.reset();
    refresh();
}

void MaskCanvas::refresh() {
    MatrixFigure next;
    next.setMatrix(tokens_, tokens_, cells_);
    next.title = tr("Mask to paint");
    next.note = tr("coloured cells: the query can see this key; drag to paint, or press Space on a cell");
    next.rowTitle = tr("query");
    next.columnTitle = tr("key");
    next.kind = MatrixFigure::Kind::Cells;
    next.numbersAxes = true;
    setFigure(std::move(next));
}

void MaskCanvas::set(const MatrixCell& cell, bool on) {
    const auto put = [&](int row, int column) {
        cells_[static_cast<size_t>(row * tokens_ + column)] = on ? 1.0f : 0.0f;
    };
    put(cell.row, cell.column);
    if (isSymmetric_) put(cell.column, cell.row);
}

void MaskCanvas::strokeTo(const MatrixCell& cell) {
    const bool on = tool_ == Tool::Paint || tool_ == Tool::FillRectangle;
    const bool isRectangle = tool_ == Tool::FillRectangle || tool_ == Tool::ClearRectangle;
    if (isRectangle) {
        cells_ = before_;
        for (int row = std::min(from_->row, cell.row); row <= std::max(from_->row, cell.row); ++row)
            for (int column = std::min(from_->column, cell.column); column <= std::max(from_->column, cell.column);
                 ++column)
                set({row, column}, on);
    } else {
        // A quick drag leaves no gaps.
        const int steps = std::max({1, std::abs(cell.row - from_->row), std::abs(cell.column - from_->column)});
        for (int step = 0; step <= steps; ++step)
            set({from_->row + (cell.row - from_->row) * step / steps,
                 from_->column + (cell.column - from_->column) * step / steps},
                on);
        from_ = cell;
    }
    refresh();
}

void MaskCanvas::mousePressEvent(QMouseEvent* event) {
    const auto cell = figure().cellAt(event->position(), figureLayout());
    if (event->button() != Qt::LeftButton || !cell) return;
    before_ = cells_;
    from_ = cell;
    strokeTo(*cell);
}

void MaskCanvas::mouseMoveEvent(QMouseEvent* event) {
    const auto cell = figure().cellAt(event->position(), figureLayout());
    if (from_ && cell) strokeTo(*cell);
    MatrixView::mouseMoveEvent(event);
}

void MaskCanvas::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !std::exchange(from_, std::nullopt)) return;
    if (cells_ != before_) emit painted(std::vector<float>(cells_));
}

void MaskCanvas::keyPressEvent(QKeyEvent* event) {
    const auto cell = figure().selected;
    if (event->key() != Qt::Key_Space || !cell) return MatrixView::keyPressEvent(event);
    set(*cell, figure().valueAt(*cell) == 0);
    refresh();
    emit painted(std::vector<float>(cells_));
}

MaskPainter::MaskPainter(QWidget* parent) : QWidget(parent) {
    auto* tools = new FlowLayout;
    tool_ = named(new QComboBox, "paintTool", tr("Tool"), tr("What dragging the mouse does to cells"));
    tool_->addItems({tr("Paint"), tr("Erase"), tr("Fill rectangle"), tr("Clear rectangle")}); // as MaskCanvas::Tool
    symmetric_ = helped(new QCheckBox(tr("Symmetric")), "paintSymmetric",
                        tr("Paint each cell on both sides of the diagonal: if A sees B, then B sees A"));
    const auto spin = [&](const char* name, const QString& text, const QString& help, int first, int last, int value) {
        auto* box = named(new WholeBox, name, text, help);
        box->setRange(first, last);
        box->setValue(value);
        tools->addWidget(labelFor(box, text));
        tools->addWidget(box);
        connect(box, &QSpinBox::valueChanged, this, &MaskPainter::showReach);
        return box;
    };
    tools->addWidget(tool_);
    tools->addWidget(symmetric_);
    token_ = spin("reachToken", tr("Reach of token"), tr("The token whose sources to trace back through the layers"), 0,
                  0, 0);
    layers_ = spin("reachLayers", tr("Layers"), tr("Number of stacked layers with this mask"), 1, 24, 6);
    remark_ = makeHintLabel("reachRemark");
    canvas_ = identified(new MaskCanvas, "maskCanvas");
    reach_ = identified(new MatrixView, "reachMap");
    makeColumn(this, 0, {tools, {canvas_, 3}, {reach_, 1}, remark_});
    connect(tool_, &QComboBox::currentIndexChanged, this,
            [this](int index) { canvas_->setTool(static_cast<MaskCanvas::Tool>(index)); });
    connect(symmetric_, &QCheckBox::toggled, canvas_, &MaskCanvas::setSymmetric);
    connect(canvas_, &MaskCanvas::painted, this, &MaskPainter::emitPainted);
}

void MaskPainter::setMask(const MaskExpression& mask, int64_t tokens) {
    if (mask == mask_ && tokens == tokens_) return;
    mask_ = mask;
    tokens_ = tokens;
    isStale_ = true;
    if (isVisible()) drawMask();
}

void MaskPainter::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (isStale_) drawMask();
}

void MaskPainter::drawMask() {
    isStale_ = false;
    const MaskExpression& mask = mask_;
    const int64_t tokens = tokens_;
    std::vector<float> cells;
    try {
        BitRow row;
        const MaskExpression cellsOf = mask.staticPart();
        for (int64_t i = 0; i < tokens; ++i) {
            cellsOf.row({.queries = tokens, .keys = tokens}, i, row);
            for (int64_t j = 0; j < tokens; ++j) cells.push_back(row.test(j) ? 1.0f : 0.0f);
        }
    } catch (const Error&) { // no mask of this size: the run reports the reason, and painting starts from an empty mask
        cells.assign(static_cast<size_t>(tokens * tokens), 0.0f);
    }
    canvas_->setCells(static_cast<int>(tokens), std::move(cells));
    {
        const QSignalBlocker quiet(token_);
        const bool wasLast = token_->value() == token_->maximum();
        token_->setMaximum(static_cast<int>(tokens) - 1);
        if (wasLast) token_->setValue(token_->maximum());
    }
    showReach();
}

void MaskPainter::emitPainted(const std::vector<float>& cells) {
    std::vector<BitRow> rows(static_cast<size_t>(tokens_), BitRow(tokens_));
    for (size_t cell = 0; cell < cells.size(); ++cell)
        if (cells[cell] != 0)
            rows[cell / static_cast<size_t>(tokens_)].set(static_cast<int64_t>(cell % static_cast<size_t>(tokens_)));
    emit painted(MaskExpression::parse(termText(partNamed(Slot::Mask, "painted"), paintedValues(rows))));
}

void MaskPainter::showReach() {
    MatrixFigure next;
    QString remark;
    try {
        const std::vector<int> reached =
            layersToReach(mask_.staticPart(), {.queries = tokens_, .keys = tokens_}, token_->value(), layers_->value());
        const int rows = layers_->value() + 1;
        std::vector<float> cells;
        for (int layer = 0; layer < rows; ++layer)
            for (const int needed : reached) cells.push_back(needed >= 0 && needed <= layer ? 1.0f : 0.0f);
        next.setMatrix(rows, static_cast<int>(tokens_), std::move(cells));
        remark = (layers_->value() == 1 ? tr("After %1 layer, token %2 has information from %3 of %4 tokens.")
                                        : tr("After %1 layers, token %2 has information from %3 of %4 tokens."))
                     .arg(layers_->value())
                     .arg(token_->value())
                     .arg(std::ranges::count_if(reached, [](int needed) { return needed >= 0; }))
                     .arg(tokens_);
    } catch (const Error& error) {
        remark = QString::fromStdString(error.message());
    }
    next.title = tr("Tokens that reach token %1").arg(token_->value());
    next.note = tr("A coloured token can pass information to token %1 through this many layers.").arg(token_->value());
    next.rowTitle = tr("layers");
    next.columnTitle = tr("token");
    next.kind = MatrixFigure::Kind::Cells;
    reach_->setFigure(std::move(next));
    remark_->setText(remark);
}

QJsonArray MaskPainter::saveReach() const {
    const bool isLast = token_->value() == token_->maximum(); // then for any number of tokens
    return {isLast ? -1 : token_->value(), layers_->value()};
}

void MaskPainter::restoreReach(const QJsonArray& reach) {
    if (reach.size() != 2) return;
    const int token = reach[0].toInt();
    token_->setMaximum(
        std::max({token_->maximum(), static_cast<int>(tokens_) - 1, token})); // the token may not be drawn yet
    token_->setValue(token < 0 ? token_->maximum() : token);
    layers_->setValue(reach[1].toInt());
}

void MaskPainter::setTheme(const FigureTheme& theme) {
    canvas_->setTheme(theme);
    reach_->setTheme(theme);
}

} // namespace attn
