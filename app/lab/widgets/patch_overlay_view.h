#pragma once

#include "app/figures/patch_overlay_figure.h"
#include "app/lab/widgets/figure_view.h"

namespace attn {

/// Shows a picture with a heatmap of where a patch looks. Patches are pointed at, clicked, or chosen by the arrow keys.
/// While patches are being hidden, a drag crosses them instead.
class PatchOverlayView : public FigureView<PatchOverlayFigure> {
    Q_OBJECT

public:
    explicit PatchOverlayView(QWidget* parent = nullptr);

    void setFigure(PatchOverlayFigure figure);
    /// @param hides whether a press or drag emits crossed() instead of chosen()
    void setHiding(bool hides);
    QRectF patchRect(int patch) const;

signals:
    /// @param patch under the pointer; none: the pointer has left
    void pointedAt(std::optional<int> patch);
    void chosen(int patch);
    /// A double click, or Return, has activated the picture. Not while patches are being hidden.
    void activated();
    /// A drag has reached a patch while hiding. @param isFirst of the drag
    void crossed(int patch, bool isFirst);
    void crossingEnded();

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    std::optional<int> patchAt(const QPointF& point) const;

    bool hides_ = false, isCrossing_ = false;
    std::optional<int> last_;
};

} // namespace attn
