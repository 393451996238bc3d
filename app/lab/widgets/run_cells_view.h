#pragma once

#include "app/figures/figure_theme.h"

#include <QString>
#include <QWidget>

#include <optional>
#include <vector>

namespace attn {

/// Shows two runs as grids: one row for each place in the model, one column for each token. The other text is above,
/// the prompt below. Dragging a cell from the upper grid to the same row of the lower one asks to patch its value in
/// there. With the keyboard, Return picks up and drops the cell that was chosen with the arrow keys.
class RunCellsView : public QWidget {
    Q_OBJECT

public:
    struct Move {
        int row = 0, from = 0, to = 0; ///< tokens of the other text and of the prompt
        bool operator==(const Move&) const = default;
    };

    explicit RunCellsView(QWidget* parent = nullptr);

    /// @param other, prompt labels of the tokens
    void setRuns(std::vector<QString> rows, std::vector<QString> other, std::vector<QString> prompt);
    /// Marks the patched cells.
    void setMoves(std::vector<Move> moves);
    void setTheme(const FigureTheme& theme);
    const std::vector<Move>& moves() const { return moves_; }

    enum Run { Other, Prompt };
    struct Place {
        Run run = Other;
        int row = 0, token = 0;
        bool operator==(const Place&) const = default;
    };
    QRectF cellRect(const Place& place) const;
    int rowCount() const { return static_cast<int>(rows_.size()); }
    int tokenCount(Run run) const { return static_cast<int>(labels(run).size()); }

    QSize minimumSizeHint() const override { return {edges_.back() + 1, heightOf(kLeastCell)}; }
    QSize sizeHint() const override { return minimumSizeHint(); }

signals:
    void moved(const attn::RunCellsView::Move& move);
    /// @param text describes the cell under the pointer or chosen; empty: no cell
    void described(const QString& text);
    void reached(const QRect& cell); ///< the cell to scroll into view

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;

private:
    static constexpr int kLeastCell = 12, kMostCell = 22; ///< height of a cell, in pixels
    const std::vector<QString>& labels(Run run) const { return run == Other ? other_ : prompt_; }
    bool isEmpty() const { return rows_.empty() || other_.empty() || prompt_.empty(); }
    std::optional<Place> placeAt(const QPointF& point) const;
    bool mayDrop(const Place& place) const { return held_ && place.run == Prompt && place.row == held_->row; }
    void goTo(const Place& place);
    void take(const Place& place);
    void drop(const Place& place);
    void describe();
    void paintGrid(QPainter& painter, Run run) const;
    int lineHeight() const;
    int cellHeight() const;
    void layOut();
    int heightOf(int cellHeight) const;

    FigureTheme theme_ = FigureTheme::light();
    std::vector<QString> rows_, other_, prompt_;
    std::vector<int> edges_{0}; ///< of the columns, from left to right: one more than columns
    std::vector<Move> moves_;
    std::optional<Place> chosen_, held_; ///< chosen_: by pointer or keys; held_: picked up from the other text
    QPointF pointer_;                    ///< the end of the arrow from the held cell
};

} // namespace attn
