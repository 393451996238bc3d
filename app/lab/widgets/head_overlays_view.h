#pragma once

#include "app/figures/colour_map.h"
#include "app/figures/figure_theme.h"

#include <QImage>
#include <QWidget>

#include <vector>

namespace attn {

/// Shows where a token looks in every head of every layer: small copies of the picture with the attention weights on
/// top, layers from top to bottom. A click or the arrow keys choose a head.
class HeadOverlaysView : public QWidget {
    Q_OBJECT

public:
    explicit HeadOverlaysView(QWidget* parent = nullptr);

    /// @param picture as the model reads it  @param weights of each layer: [its heads, rows * columns]
    /// @param heads of the layer with the most heads  @param rows, columns of the grid of patches
    void setWeights(const QImage& picture, std::vector<std::vector<float>> weights, int heads, int rows, int columns);
    void setLook(ColourMapId colours, double opacity, bool isSmooth);
    void setSelected(int layer, int head);
    void setTheme(const FigureTheme& theme);
    QRectF cellRect(int layer, int head) const;

    QSize sizeHint() const override { return {420, 420}; }
    QSize minimumSizeHint() const override;

signals:
    void chosen(int layer, int head);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    int layers() const { return static_cast<int>(weights_.size()); }
    int headsOf(int layer) const;
    double gutter() const;

    QImage picture_;
    std::vector<std::vector<float>> weights_;
    int heads_ = 0, rows_ = 0, columns_ = 0, layer_ = 0, head_ = 0;
    ColourMapId colours_ = ColourMapId::Viridis;
    double opacity_ = 0.6;
    bool isSmooth_ = false;
    FigureTheme theme_ = FigureTheme::light();
};

} // namespace attn
