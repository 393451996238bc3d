#include "app/lab/widgets/head_preview.h"

#include "app/figures/spacing.h"

#include <algorithm>

namespace attn {
namespace {

constexpr double kShare = 0.6; ///< of the shorter side of the window
constexpr int kMost = 620;     ///< pixels across

} // namespace

HeadPreview::HeadPreview() : FigureView(nullptr, {}, {}) {
    setObjectName("headPreview");
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setFocusPolicy(Qt::NoFocus);
    hide();
}

void HeadPreview::showBeside(const QRect& thumbnail, QWidget& window, const FigureTheme& theme, HeatmapFigure figure) {
    if (parentWidget() != &window) setParent(&window);
    theme_ = theme;
    figure_ = std::move(figure);
    update();
    const int wanted = std::min(static_cast<int>(kShare * std::min(window.width(), window.height())), kMost);
    const int gap = spacing::kWide, right = window.width() - thumbnail.right() - 2 * gap,
              left = thumbnail.left() - 2 * gap;
    const bool isRight = right >= std::min(wanted, left);
    const int width = std::min(wanted, isRight ? right : left);
    setGeometry(isRight ? thumbnail.right() + gap : thumbnail.left() - gap - width,
                std::clamp(thumbnail.center().y() - wanted / 2, gap, std::max(gap, window.height() - wanted - gap)),
                width, wanted);
    setVisible(width > 0);
    raise();
}

double HeadPreview::mostGrowth() const {
    return growthForLabels(figure().wholeWindow().height(), figure().wholeWindow().width());
}

void HeadPreview::paintEvent(QPaintEvent* event) {
    FigureView::paintEvent(event);
    QPainter painter(this);
    painter.setPen(QPen(theme_.faint, 1));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

} // namespace attn
