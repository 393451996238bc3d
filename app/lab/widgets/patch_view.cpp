#include "app/lab/widgets/patch_view.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace attn {

PatchView::PatchView(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Picture in patches"));
    setToolTip(
        tr("Point at a patch, or at a row of a heatmap, to see how much attention it gives to the other patches. "
           "Brighter means more"));
    setAccessibleDescription(toolTip());
    setMouseTracking(true);
}

void PatchView::setPicture(const QImage& picture, int rows, int columns) {
    picture_ = picture;
    rows_ = rows;
    columns_ = columns;
    query_.reset();
    weights_.clear();
    update();
}

void PatchView::setWeights(std::optional<int> query, std::vector<float> weights) {
    query_ = query;
    weights_ = std::move(weights);
    describe();
    update();
}

/// Tells screen readers to which patch the chosen one attends most.
void PatchView::describe() {
    const auto place = [this](int patch) { return tr("patch %1, %2").arg(patch / columns_).arg(patch % columns_); };
    if (!query_ || weights_.empty()) return setAccessibleDescription(toolTip());
    const auto most = std::ranges::max_element(weights_, [](float a, float b) { return std::isnan(a) || a < b; });
    setAccessibleDescription(tr("%1 looks most at %2: %3")
                                 .arg(place(*query_), place(static_cast<int>(most - weights_.begin())),
                                      QString::number(static_cast<double>(*most), 'f', 3)));
}

void PatchView::setTheme(const FigureTheme& theme) {
    theme_ = theme;
    update();
}

QRectF PatchView::frame() const {
    if (picture_.isNull()) return {};
    const QSizeF size = QSizeF(picture_.size()).scaled(QSizeF(width() - 4, height() - 4), Qt::KeepAspectRatio);
    return {QPointF((width() - size.width()) / 2, 2), size};
}

QRectF PatchView::patchRect(int patch) const {
    const QRectF all = frame();
    const double w = all.width() / columns_, h = all.height() / rows_;
    return {all.left() + patch % columns_ * w, all.top() + patch / columns_ * h, w, h};
}

void PatchView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme_.background);
    if (picture_.isNull()) return;
    painter.setRenderHint(QPainter::SmoothPixmapTransform);
    painter.drawImage(frame(), picture_);
    float most = 0;
    for (const float weight : weights_)
        if (std::isfinite(weight)) most = std::max(most, std::abs(weight));
    const int patches = rows_ * columns_;
    for (int patch = 0; patch < patches && most > 0 && weights_.size() == static_cast<size_t>(patches); ++patch) {
        const float weight = weights_[static_cast<size_t>(patch)];
        const float share = std::isfinite(weight) ? std::abs(weight) / most : 0;
        // Patches with little attention are darkened.
        QColor shade(0, 0, 0);
        shade.setAlphaF(0.85f * (1 - share));
        painter.fillRect(patchRect(patch), shade);
    }
    painter.setPen(QPen(theme_.line, 1));
    for (int patch = 0; patch < patches; ++patch) painter.drawRect(patchRect(patch));
    if (!query_ || *query_ >= patches) return;
    painter.setPen(QPen(theme_.query, theme_.size > 14 ? 4 : 3));
    painter.drawRect(patchRect(*query_).adjusted(1, 1, -1, -1));
}

void PatchView::mouseMoveEvent(QMouseEvent* event) {
    const QRectF all = frame();
    if (!all.contains(event->position())) {
        emit pointedAt({});
        return;
    }
    const int column =
        std::min(columns_ - 1, static_cast<int>((event->position().x() - all.left()) / all.width() * columns_));
    const int row = std::min(rows_ - 1, static_cast<int>((event->position().y() - all.top()) / all.height() * rows_));
    emit pointedAt(row * columns_ + column);
}

void PatchView::leaveEvent(QEvent*) { emit pointedAt({}); }

} // namespace attn
