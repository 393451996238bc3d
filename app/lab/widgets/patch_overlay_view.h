#pragma once

#include "app/figures/patch_overlay_figure.h"

#include <QWidget>

#include <set>

namespace attn {

/// Shows a picture with a heatmap of where a patch looks. Patches are pointed at, clicked, or chosen by the arrow keys.
/// While patches are being hidden, a drag crosses them instead.
class PatchOverlayView : public QWidget {
    Q_OBJECT

public:
    explicit PatchOverlayView(QWidget* parent = nullptr);

    void setFigure(PatchOverlayFigure figure);
    void setTheme(const FigureTheme& theme);
    /// @param hides whether a press or drag emits crossed() instead of chosen()
    void setHiding(bool hides);
    const PatchOverlayFigure& figure() const { return figure_; }
    QRectF patchRect(int patch) const;

    QSize sizeHint() const override { return {420, 420}; }
    QSize minimumSizeHint() const override { return {140, 140}; }

signals:
    /// @param patch under the pointer; none: the pointer has left
    void pointedAt(std::optional<int> patch);
    void chosen(int patch);
    /// A drag has reached a patch while hiding. @param isFirst of the drag
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
