#pragma once

#include "app/figures/heatmap_figure.h"
#include "app/lab/widgets/figure_view.h"

namespace attn {

/// Shows the pattern of one head. The wheel zooms at the cursor, dragging moves the heatmap, and a double click shows
/// all of it again. Arrow keys move the selected cell, Return opens it, plus and minus zoom, Home shows all.
class HeatmapView : public FigureView<HeatmapFigure> {
    Q_OBJECT

public:
    explicit HeatmapView(QWidget* parent = nullptr);

    /// @param queries, keys rows of the whole pattern, of which the tile may be only a part
    /// @param before the tile of the original run, as in HeatmapFigure::before; may be null
    void setTile(std::shared_ptr<const PatternTile> tile, int queries, int keys,
                 std::shared_ptr<const PatternTile> before = nullptr);
    void setLabels(std::vector<QString> queries, std::vector<QString> keys);
    void setTitle(const QString& title);
    void setScale(const Scale& scale) { change(figure_.scale, scale); }
    void setColours(ColourMapId colours) { change(figure_.colours, colours); }
    void setTheme(const FigureTheme& theme);
    void setSelected(std::optional<Cell> cell);
    /// Marks the row and column of a token that is under the pointer in another view; -1: none.
    void setLinkedToken(int token) { change(figure_.linkedToken, token); }
    /// Sets the text for the time when there is no tile.
    void setEmptyText(const QString& text) {
        change(emptyText_, text);
        say();
    }

    bool isZoomed() const { return !figure_.window.isNull(); }
    /// @return the visible part, in tokens (x: keys, y: queries)
    QRectF visibleWindow() const;
    /// @param window in tokens; null: everything
    void setWindow(const QRectF& window);
    void zoomAt(const QPointF& point, double factor);
    void resetZoom() { setWindow({}); }

signals:
    void hovered(int query, int key);
    void hoverLeft();
    void cellSelected(int query, int key);
    /// Return was pressed on the selected cell.
    void cellActivated(int query, int key);
    void windowChanged(const QRectF& window);

protected:
    double mostGrowth() const override { return growthForLabels(visibleWindow().height(), visibleWindow().width()); }
    void paintEvent(QPaintEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    void choose(const Cell& cell);
    void hover(const QPointF& point);
    void moveSelection(int queries, int keys);
    QString describe(const Cell& cell) const;
    /// Tells screen readers the chosen cell, or else the tokens.
    void say();

    QString emptyText_;
    std::optional<QPointF> pressedAt_;
    QRectF windowAtPress_;
    bool isDragging_ = false;
};

} // namespace attn
