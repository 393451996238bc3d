#pragma once

#include "app/figures/patch_overlay_figure.h"

#include <QWidget>

#include <set>

namespace attn {

/// A picture with where a patch looks laid over it. Pointing at a patch, clicking it and the arrow keys say which one;
/// while patches are being hidden, dragging goes over them instead.
class PatchOverlayView : public QWidget {
    Q_OBJECT

public:
    explicit PatchOverlayView(QWidget* parent = nullptr);

    void setFigure(PatchOverlayFigure figure);
    void setTheme(const FigureTheme& theme);
    /// Whether a press and a drag hide patches rather than choosing one.
    void setHiding(bool hides);
    const PatchOverlayFigure& figure() const { return figure_; }
    QRectF patchRect(int patch) const;

    QSize sizeHint() const override { return {420, 420}; }
    QSize minimumSizeHint() const override { return {140, 140}; }

signals:
    /// @param patch none: the pointer has left
    void pointedAt(std::optional<int> patch);
    void chosen(int patch);
    /// While hiding. @param isFirst of a drag
    void crossed(int patch, bool isFirst);
    void crossingEnded();

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    std::optional<int> patchAt(const QPointF& point) const;

    PatchOverlayFigure figure_;
    FigureTheme theme_ = FigureTheme::light();
    bool hides_ = false, isCrossing_ = false;
    std::optional<int> last_;
};

} // namespace attn
