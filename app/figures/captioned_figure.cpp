#include "app/figures/captioned_figure.h"

#include "app/figures/spacing.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr int kWraps = static_cast<int>(Qt::AlignLeft | Qt::AlignTop) | Qt::TextWordWrap | Qt::TextWrapAnywhere;

} // namespace

double CaptionedFigure::captionHeight(double width, const FigureTheme& theme) const {
    if (caption.isEmpty()) return 0;
    const QRectF room(0, 0, std::max(1.0, width - 2 * spacing::kGap), 1e4);
    return std::ceil(QFontMetricsF(theme.textFont()).boundingRect(room, kWraps, caption).height()) + 2 * spacing::kGap;
}

QSizeF CaptionedFigure::pageSize(const QSizeF& onScreen, const FigureTheme& theme) const {
    const QSizeF page = figure->pageSize(onScreen, theme);
    return {page.width(), page.height() + captionHeight(page.width(), theme)};
}

void CaptionedFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    // The figure keeps half of a page that is too small.
    const double height = std::min(captionHeight(area.width(), theme), area.height() / 2);
    figure->paint(painter, area.adjusted(0, 0, 0, -height), theme);
    const QRectF below(area.left(), area.bottom() - height, area.width(), height);
    painter.fillRect(below, theme.background);
    painter.save();
    painter.setClipRect(below, Qt::IntersectClip);
    painter.setFont(theme.textFont());
    painter.setPen(theme.text);
    painter.drawText(below.adjusted(spacing::kGap, spacing::kGap, -spacing::kGap, 0), kWraps, caption);
    painter.restore();
}

std::shared_ptr<const Figure> CaptionedFigure::copy() const {
    auto same = std::make_shared<CaptionedFigure>(*this);
    same->figure = figure->copy();
    return same;
}

} // namespace attn
