#include "app/lab/widgets/run_cells_view.h"

#include "app/figures/drawing.h"
#include "app/lab/widgets/arrow_step.h"

#include <QFontMetrics>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr int kMargin = 6, kNarrowest = 26, kWidest = 90; ///< of a cell; all in pixels

} // namespace

RunCellsView::RunCellsView(QWidget* parent) : QWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Values in the other text (above) and in the prompt (below)"));
    setToolTip(tr("Drag a cell of the other text to a token of the prompt in the same row to patch its value "
                  "in.\nKeyboard: the arrow keys choose, Return picks up a cell and drops it, Escape cancels."));
}

void RunCellsView::setRuns(std::vector<QString> rows, std::vector<QString> other, std::vector<QString> prompt) {
    if (rows == rows_ && other == other_ && prompt == prompt_) return;
    rows_ = std::move(rows);
    other_ = std::move(other);
    prompt_ = std::move(prompt);
    const auto isGone = [this](const std::optional<Place>& place) {
        return place && (place->row >= rowCount() || place->token >= tokenCount(place->run));
    };
    if (isGone(chosen_)) chosen_.reset();
    if (isGone(held_)) held_.reset();
    layOut();
    describe();
}

void RunCellsView::setMoves(std::vector<Move> moves) {
    moves_ = std::move(moves);
    update();
}

void RunCellsView::setTheme(const FigureTheme& theme) {
    theme_ = theme;
    layOut();
    update();
}

int RunCellsView::lineHeight() const { return QFontMetrics(theme_.smallFont()).height() + 2; }

/// Makes columns as wide as their tokens, the same in both grids.
void RunCellsView::layOut() {
    const auto widthOf = [this](const QString& text) {
        return static_cast<int>(std::ceil(textWidth(text, theme_.smallFont())));
    };
    int gutter = 0; // for the names of the rows
    for (const QString& row : rows_) gutter = std::max(gutter, widthOf(row));
    edges_ = {gutter + 2 * kMargin};
    const int columns = isEmpty() ? 0 : std::max(tokenCount(Other), tokenCount(Prompt));
    for (int token = 0; token < columns; ++token) {
        int width = kNarrowest;
        for (Run run : {Other, Prompt})
            if (token < tokenCount(run))
                width = std::max(width, widthOf(labels(run)[static_cast<size_t>(token)]) + kMargin);
        edges_.push_back(edges_.back() + std::min(width, kWidest));
    }
    updateGeometry();
}

int RunCellsView::heightOf(int cellHeight) const {
    return 2 * (2 * lineHeight() + rowCount() * cellHeight) + 3 * kMargin;
}

int RunCellsView::cellHeight() const {
    return std::clamp((height() - heightOf(0)) / std::max(2 * rowCount(), 1), kLeastCell, kMostCell);
}

QRectF RunCellsView::cellRect(const Place& place) const {
    const int top = kMargin + 2 * lineHeight() + (place.run == Prompt ? heightOf(cellHeight()) / 2 : 0);
    const auto at = static_cast<size_t>(place.token);
    return QRectF(edges_[at], top + place.row * cellHeight(), edges_[at + 1] - edges_[at], cellHeight());
}

std::optional<RunCellsView::Place> RunCellsView::placeAt(const QPointF& point) const {
    if (isEmpty()) return {};
    const auto token = std::ranges::upper_bound(edges_, point.x()) - edges_.begin() - 1;
    for (Run run : {Other, Prompt}) {
        const double top = cellRect({run, 0, 0}).top();
        const Place place{run, static_cast<int>(std::floor((point.y() - top) / cellHeight())), static_cast<int>(token)};
        if (place.row >= 0 && place.row < rowCount() && place.token >= 0 && place.token < tokenCount(run)) return place;
    }
    return {};
}

void RunCellsView::describe() {
    QString text;
    if (chosen_) {
        const QString cell = tr("%1, token %2 “%3”")
                                 .arg(rows_[static_cast<size_t>(chosen_->row)])
                                 .arg(chosen_->token)
                                 .arg(labels(chosen_->run)[static_cast<size_t>(chosen_->token)]);
        text = chosen_->run == Other ? tr("The other text: %1").arg(cell) : tr("The prompt: %1").arg(cell);
    }
    if (held_) {
        const QString taken = tr("Holding token %1 “%2” of the other text")
                                  .arg(held_->token)
                                  .arg(other_[static_cast<size_t>(held_->token)]);
        text = text.isEmpty() ? taken : tr("%1. %2").arg(taken, text);
    }
    setAccessibleDescription(text.isEmpty() ? toolTip() : text);
    emit described(text);
    update();
}

void RunCellsView::goTo(const Place& place) {
    chosen_ = place;
    if (held_) pointer_ = cellRect(place).center();
    emit reached(cellRect(place).toAlignedRect());
    describe();
}

void RunCellsView::take(const Place& place) {
    held_ = place;
    describe();
}

void RunCellsView::drop(const Place& place) {
    const Move move{place.row, held_->token, place.token};
    held_.reset();
    describe();
    emit moved(move);
}

void RunCellsView::mousePressEvent(QMouseEvent* event) {
    const auto place = placeAt(event->position());
    if (event->button() != Qt::LeftButton || !place) return;
    pointer_ = event->position();
    chosen_ = place;
    if (place->run == Other) take(*place);
}

void RunCellsView::mouseMoveEvent(QMouseEvent* event) {
    pointer_ = event->position();
    chosen_ = placeAt(pointer_);
    if (event->buttons() & Qt::LeftButton) emit reached(QRectF(pointer_, QSizeF(1, 1)).toAlignedRect());
    setCursor(held_ && chosen_ && !mayDrop(*chosen_) && *chosen_ != *held_ ? Qt::ForbiddenCursor : Qt::ArrowCursor);
    describe();
}

/// Drops the held cell. If it is released where it was picked up, it stays held, so that two clicks work like a drag.
void RunCellsView::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !held_) return;
    const auto place = placeAt(event->position());
    unsetCursor();
    if (place && mayDrop(*place)) return drop(*place);
    if (place != held_) held_.reset();
    describe();
}

void RunCellsView::leaveEvent(QEvent*) {
    if (hasFocus()) return; // the cell chosen by keys stays
    chosen_.reset();
    describe();
}

/// Handles Escape while a cell is held. Otherwise Escape stops the window's running task.
bool RunCellsView::event(QEvent* event) {
    const bool isKey = event->type() == QEvent::ShortcutOverride;
    if (!isKey || !held_ || static_cast<QKeyEvent*>(event)->key() != Qt::Key_Escape) return QWidget::event(event);
    event->accept();
    return true;
}

void RunCellsView::keyPressEvent(QKeyEvent* event) {
    if (isEmpty()) return QWidget::keyPressEvent(event);
    const Place at = chosen_.value_or(Place{});
    if (const auto step = arrowStep(*event)) {
        Place next = at;
        next.token = std::clamp(at.token + step->right, 0, tokenCount(at.run) - 1);
        next.row += step->down;
        // The first row of the lower grid follows the last row of the upper one. A held cell stays in its row.
        if (held_ && step->down != 0) {
            next.run = step->down > 0 ? Prompt : Other;
            next.row = held_->row;
        } else if (next.row < 0 || next.row >= rowCount()) {
            next.run = step->down > 0 ? Prompt : Other;
            next.row = next.run == at.run ? at.row : step->down > 0 ? 0 : rowCount() - 1;
        }
        next.token = std::min(next.token, tokenCount(next.run) - 1);
        return goTo(next);
    }
    if (event->key() == Qt::Key_Escape && held_) {
        const Place from = *held_;
        held_.reset();
        return goTo(from);
    }
    if (event->key() != Qt::Key_Return && event->key() != Qt::Key_Enter) return QWidget::keyPressEvent(event);
    if (at.run == Other) {
        take(at);
        goTo({Prompt, at.row, std::min(at.token, tokenCount(Prompt) - 1)});
    } else if (mayDrop(at)) {
        drop(at);
    }
}

void RunCellsView::focusInEvent(QFocusEvent* event) {
    if (!chosen_ && !isEmpty() && event->reason() != Qt::MouseFocusReason) goTo({});
    update();
}

void RunCellsView::paintGrid(QPainter& painter, Run run) const {
    const QRectF corner = cellRect({run, 0, 0});
    const double line = lineHeight();
    drawLine(painter, {corner.left(), corner.top() - 2 * line, width() - corner.left(), line},
             Qt::AlignLeft | Qt::AlignVCenter, run == Other ? tr("The other text") : tr("The prompt"),
             theme_.smallFont(), theme_.faint);
    const auto isMoved = [&](int row, int token) {
        return std::ranges::any_of(
            moves_, [&](const Move& move) { return move.row == row && (run == Other ? move.from : move.to) == token; });
    };
    for (int token = 0; token < tokenCount(run); ++token)
        drawLine(painter,
                 {cellRect({run, 0, token}).left(), corner.top() - line, cellRect({run, 0, token}).width(), line},
                 Qt::AlignCenter, labels(run)[static_cast<size_t>(token)], theme_.smallFont(), theme_.text);
    for (int row = 0; row < rowCount(); ++row) {
        drawLine(painter,
                 {0, corner.top() + row * cellHeight(), corner.left() - kMargin, static_cast<double>(cellHeight())},
                 Qt::AlignRight | Qt::AlignVCenter, rows_[static_cast<size_t>(row)], theme_.smallFont(), theme_.faint);
        for (int token = 0; token < tokenCount(run); ++token) {
            const Place place{run, row, token};
            const QRectF cell = cellRect(place).adjusted(1, 1, -1, -1);
            QColor fill = theme_.plot;
            if (mayDrop(place)) {
                fill = theme_.accent;
                fill.setAlphaF(place == chosen_ ? 0.6f : 0.25f);
            }
            if (held_ == place || isMoved(row, token)) fill = run == Other ? theme_.key : theme_.query;
            painter.setOpacity(held_ && !mayDrop(place) && held_ != place ? 0.45 : 1);
            painter.fillRect(cell, fill);
            painter.setPen(place == chosen_ ? QPen(hasFocus() ? theme_.accent : theme_.text, 2) : QPen(theme_.line, 1));
            painter.drawRect(cell);
            painter.setOpacity(1);
        }
    }
}

void RunCellsView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme_.background);
    if (isEmpty()) return drawMessage(painter, rect(), tr("The tokens of both texts appear here."), theme_);
    paintGrid(painter, Other);
    paintGrid(painter, Prompt);
    painter.setRenderHint(QPainter::Antialiasing);
    const auto arrow = [&](const QPointF& from, const QPointF& to) {
        const QLineF line(to, from);
        painter.drawLine(line);
        for (double angle : {25.0, -25.0}) {
            QLineF head = line;
            head.setLength(std::min(9.0, line.length()));
            head.setAngle(line.angle() + angle);
            painter.drawLine(head);
        }
    };
    QColor faint = theme_.accent;
    faint.setAlphaF(0.5f);
    painter.setPen(QPen(faint, 1.5));
    for (const Move& move : moves_)
        if (move.row < rowCount() && move.from < tokenCount(Other) && move.to < tokenCount(Prompt))
            arrow(cellRect({Other, move.row, move.from}).center(), cellRect({Prompt, move.row, move.to}).center());
    painter.setPen(QPen(theme_.accent, 2));
    if (held_) arrow(cellRect(*held_).center(), pointer_);
}

} // namespace attn
