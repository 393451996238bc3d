#pragma once

#include "app/figures/patch_overlay_figure.h"
#include "app/lab/widgets/figure_view.h"

namespace attn {

/// Shows a picture with a heatmap of the attention from a patch. Patches are pointed at, clicked, or chosen with the
/// arrow keys. While patches are being hidden, a drag crosses them instead.
class PatchOverlayView : public FigureView<PatchOverlayFigure> {
    Q_OBJECT

public:
    explicit PatchOverlayView(QWidget* parent = nullptr);

    void setFigure(PatchOverlayFigure figure);
    /// @param hides whether a press or drag emits crossed() instead of chosen()
    void setHiding(bool hides);
    QRectF patchRect(int patch) const;

signals:
    /// @param patch under the pointer; none when the pointer leaves
    void pointedAt(std::optional<int> patch);
    void chosen(int patch);
    /// A double click or Return activated the picture. Not emitted while patches are being hidden.
    void activated();
    /// A drag reached a patch while patches are being hidden. @param isFirst whether it is the drag's first patch
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
