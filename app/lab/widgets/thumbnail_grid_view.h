#pragma once

#include "app/figures/thumbnail_grid_figure.h"
#include "app/lab/widgets/figure_view.h"

#include <QVariantAnimation>

namespace attn {

/// Shows every head as a thumbnail. A click opens a head, arrow keys move the frame, and Return opens the framed head.
/// The rows of a newly generated token light up briefly.
class ThumbnailGridView : public FigureView<ThumbnailGridFigure> {
    Q_OBJECT

public:
    explicit ThumbnailGridView(QWidget* parent = nullptr);

    /// @param before as for ThumbnailGridFigure::setGrid()
    void setGrid(const std::shared_ptr<const PatternGrid>& grid, int keyValueHeads,
                 const std::shared_ptr<const PatternGrid>& before = nullptr);
    void setReadoutRows(const std::shared_ptr<const ReadoutRows>& rows,
                        const std::shared_ptr<const ReadoutRows>& before = nullptr);
    void setReadoutToken(const QString& token) { readoutToken_ = token; } ///< as a sentence names it
    void setScale(const Scale& scale) { change(figure_.scale, scale); }
    void setColours(ColourMapId colours) { change(figure_.colours, colours); }
    /// @param kept as in ThumbnailGridFigure
    void setKept(std::vector<float> kept);
    void setSiteLabels(std::vector<QString> labels); ///< see ThumbnailGridFigure::siteLabels
    void setSelected(const HeadChoice& choice);
    void setEmptyText(const QString& text) { change(emptyText_, text); }

    /// @return the width of a thumbnail in device pixels, the resolution to ask the session for
    int thumbnailPixels() const;

    QSize minimumSizeHint() const override;

signals:
    /// The frame moved.
    void selected(const attn::HeadChoice& choice);
    /// A click or Return asked to open this head.
    void activated(const attn::HeadChoice& choice);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    void choose(const HeadChoice& choice);
    void move(int layers, int columns);
    QString describe(const HeadChoice& choice) const;

    QString emptyText_, readoutToken_;
    QVariantAnimation glow_;
};

} // namespace attn
