#pragma once

#include "app/figures/thumbnail_grid_figure.h"

#include <QVariantAnimation>
#include <QWidget>

namespace attn {

/// Shows every head as a thumbnail. A click opens a head, arrow keys move the frame, Return opens the framed head. When
/// a token is generated, its rows light up for a moment.
class ThumbnailGridView : public QWidget {
    Q_OBJECT

public:
    explicit ThumbnailGridView(QWidget* parent = nullptr);

    /// @param before as for ThumbnailGridFigure::setGrid()
    void setGrid(const std::shared_ptr<const PatternGrid>& grid, int keyValueHeads,
                 const std::shared_ptr<const PatternGrid>& before = nullptr);
    void setNewest(const std::shared_ptr<const NewestRows>& newest,
                   const std::shared_ptr<const NewestRows>& before = nullptr);
    void setScale(const Scale& scale);
    void setColours(ColourMapId colours);
    void setTheme(const FigureTheme& theme);
    void setSelected(const HeadChoice& choice);
    void setEmptyText(const QString& text);

    const ThumbnailGridFigure& figure() const { return figure_; }
    ThumbnailGridFigure::Layout figureLayout() const { return figure_.layout(rect(), theme_); }
    /// @return the width of a thumbnail in device pixels, which the session should deliver
    int thumbnailPixels() const;

    QSize sizeHint() const override { return {360, 220}; }
    QSize minimumSizeHint() const override;

signals:
    /// The frame moved.
    void selected(const attn::HeadChoice& choice);
    /// A click or Return asks to open this head.
    void activated(const attn::HeadChoice& choice);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    bool event(QEvent* event) override;

private:
    void choose(const HeadChoice& choice);
    void move(int layers, int columns);
    QString describe(const HeadChoice& choice) const;

    ThumbnailGridFigure figure_;
    FigureTheme theme_;
    QString emptyText_;
    QVariantAnimation glow_;
};

} // namespace attn
