#include "app/lab/widgets/head_preview.h"

#include "app/figures/spacing.h"
#include "app/lab/widgets/escape_key.h"

#include <QApplication>

#include <algorithm>

namespace attn {
namespace {

constexpr double kShare = 0.8; ///< of the shorter side of the thumbnails
constexpr int kMost = 620;     ///< pixels across

} // namespace

HeadPreview::HeadPreview(QWidget& thumbnails) : FigureView(&thumbnails, {}, {}) {
    setObjectName("headPreview");
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setFocusPolicy(Qt::NoFocus);
    hide();
}

void HeadPreview::showBeside(const QRect& thumbnail, const FigureTheme& theme, HeatmapFigure figure) {
    theme_ = theme;
    figure_ = std::move(figure);
    update();
    const int gap = spacing::kWide;
    const QRect room = parentWidget()->visibleRegion().boundingRect().adjusted(gap, gap, -gap, -gap);
    const int wanted = std::min(static_cast<int>(kShare * std::min(room.width(), room.height())), kMost);
    const int right = room.right() - thumbnail.right() - gap, left = thumbnail.left() - room.left() - gap;
    const bool isRight = right >= std::min(wanted, left);
    const int width = std::min(wanted, isRight ? right : left);
    if (width <= thumbnail.width()) return hide();
    setGeometry(isRight ? thumbnail.right() + gap : thumbnail.left() - gap - width,
                std::clamp(thumbnail.center().y() - wanted / 2, room.top(), room.bottom() - wanted), width, wanted);
    show();
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

void HeadPreview::showEvent(QShowEvent* event) {
    FigureView::showEvent(event);
    qApp->installEventFilter(this);
}

void HeadPreview::hideEvent(QHideEvent* event) {
    FigureView::hideEvent(event);
    qApp->removeEventFilter(this);
}

bool HeadPreview::eventFilter(QObject* watched, QEvent* event) {
    if (!isEscapeIn(*this, watched, *event)) return FigureView::eventFilter(watched, event);
    event->accept();
    if (event->type() == QEvent::KeyPress) emit closeAsked();
    return true;
}

} // namespace attn
