#include "app/figures/captioned_figure.h"

#include "app/figures/spacing.h"

#include <QPainter>
#include <QTextLayout>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

/// Breaks a caption between words, and within one that is longer than a line. @return its height
double wrap(QTextLayout& layout, double width) {
    QTextOption option(Qt::AlignLeft);
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    layout.setTextOption(option);
    double y = 0;
    layout.beginLayout();
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
        line.setLineWidth(width);
        line.setPosition({0, y});
        y += line.height();
    }
    layout.endLayout();
    return std::ceil(y);
}

double widthOfCaption(double page) { return std::max(1.0, page - 2 * spacing::kGap); }

QString inLines(QString caption) { return caption.replace('\n', QChar::LineSeparator); }

} // namespace

double CaptionedFigure::captionHeight(double width, const FigureTheme& theme) const {
    if (caption.isEmpty()) return 0;
    QTextLayout layout(inLines(caption), theme.textFont());
    return wrap(layout, widthOfCaption(width)) + 2 * spacing::kGap;
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
    painter.setPen(theme.text);
    QTextLayout layout(inLines(caption), theme.textFont());
    wrap(layout, widthOfCaption(area.width()));
    layout.draw(&painter, below.topLeft() + QPointF(spacing::kGap, spacing::kGap));
    painter.restore();
}

std::shared_ptr<const Figure> CaptionedFigure::copy() const {
    auto same = std::make_shared<CaptionedFigure>(*this);
    same->figure = figure->copy();
    return same;
}

} // namespace attn
