#include "app/lab/widgets/head_overlays_view.h"

#include "app/figures/drawing.h"
#include "app/lab/widgets/arrow_step.h"

#include <QFontMetricsF>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr double kGap = 3; ///< between heads, in pixels

} // namespace

HeadOverlaysView::HeadOverlaysView(QWidget* parent) : QWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Every head of every layer"));
    setToolTip(tr("Where the chosen token looks in each head. Click a head to enlarge it"));
}

void HeadOverlaysView::setWeights(const QImage& picture, std::vector<std::vector<float>> weights, int heads, int rows,
                                  int columns) {
    picture_ = picture;
    weights_ = std::move(weights);
    heads_ = heads;
    rows_ = rows;
    columns_ = columns;
    update();
}

void HeadOverlaysView::setLook(ColourMapId colours, double opacity, bool isSmooth) {
    colours_ = colours;
    opacity_ = opacity;
    isSmooth_ = isSmooth;
    update();
}

void HeadOverlaysView::setSelected(int layer, int head) {
    layer_ = layer;
    head_ = head;
    setAccessibleDescription(tr("Layer %1, head %2").arg(layer).arg(head));
    update();
}

void HeadOverlaysView::setTheme(const FigureTheme& theme) {
    theme_ = theme;
    update();
}

int HeadOverlaysView::headsOf(int layer) const {
    return static_cast<int>(weights_[static_cast<size_t>(layer)].size()) / std::max(rows_ * columns_, 1);
}

QSize HeadOverlaysView::minimumSizeHint() const {
    return {std::max(120, heads_ * 18 + static_cast<int>(gutter())), std::max(80, layers() * 18 + 20)};
}

double HeadOverlaysView::gutter() const {
    return std::ceil(QFontMetricsF(theme_.smallFont()).horizontalAdvance(QStringLiteral("L00"))) + 6;
}

QRectF HeadOverlaysView::cellRect(int layer, int head) const {
    if (heads_ == 0 || layers() == 0 || picture_.isNull()) return {};
    const double top = std::ceil(QFontMetricsF(theme_.smallFont()).height()) + 2;
    const double roomX = (width() - gutter()) / heads_ - kGap, roomY = (height() - top) / layers() - kGap;
    const double scale = std::max(0.0, std::min(roomX / picture_.width(), roomY / picture_.height()));
    const double w = picture_.width() * scale, h = picture_.height() * scale;
    return {gutter() + head * (w + kGap), top + layer * (h + kGap), w, h};
}

void HeadOverlaysView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme_.background);
    if (picture_.isNull() || layers() == 0)
        return drawMessage(painter, rect(), tr("Open a vision model to see where every head looks."), theme_);
    const ColourMap& map = ColourMap::of(colours_);
    const QSize size = cellRect(0, 0).size().toSize();
    if (size.isEmpty()) return;
    const double ratio = devicePixelRatioF();
    const QImage small = picture_.scaled(size * ratio, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
    QImage overlay(columns_, rows_, QImage::Format_ARGB32);
    for (int layer = 0; layer < layers(); ++layer)
        for (int head = 0; head < headsOf(layer); ++head) {
            const float* cells = weights_[static_cast<size_t>(layer)].data() + head * rows_ * columns_;
            float most = 0;
            for (int i = 0; i < rows_ * columns_; ++i) most = std::max(most, cells[i]);
            for (int row = 0; row < rows_; ++row)
                for (int column = 0; column < columns_; ++column)
                    overlay.setPixel(column, row, map.at(most > 0 ? cells[row * columns_ + column] / most : 0));
            const QRectF cell = cellRect(layer, head);
            painter.drawImage(cell, small);
            painter.setRenderHint(QPainter::SmoothPixmapTransform, isSmooth_);
            painter.setOpacity(opacity_);
            painter.drawImage(cell, overlay);
            painter.setOpacity(1);
        }
    painter.setFont(theme_.smallFont());
    painter.setPen(theme_.faint);
    for (int head = 0; head < heads_; ++head) {
        const QRectF cell = cellRect(0, head);
        if (cell.width() > gutter() - 6)
            painter.drawText(QRectF(cell.left(), 0, cell.width(), cell.top()), Qt::AlignCenter, tr("H%1").arg(head));
    }
    const double line = QFontMetricsF(theme_.smallFont()).height();
    const int step = std::max(1, static_cast<int>(std::ceil(line / (cellRect(0, 0).height() + kGap))));
    for (int layer = 0; layer < layers(); layer += step) {
        const double middle = cellRect(layer, 0).center().y();
        painter.drawText(QRectF(0, middle - line / 2, gutter() - 4, line), Qt::AlignRight | Qt::AlignVCenter,
                         tr("L%1").arg(layer));
    }
    painter.setPen(QPen(hasFocus() ? theme_.accent : theme_.text, 2));
    painter.setBrush(Qt::NoBrush);
    if (layer_ < layers() && head_ >= 0 && head_ < heads_) painter.drawRect(cellRect(layer_, head_));
}

void HeadOverlaysView::mousePressEvent(QMouseEvent* event) {
    for (int layer = 0; layer < layers(); ++layer)
        for (int head = 0; head < headsOf(layer); ++head)
            if (cellRect(layer, head).contains(event->position())) emit chosen(layer, head);
}

void HeadOverlaysView::keyPressEvent(QKeyEvent* event) {
    const auto step = arrowStep(*event);
    if (layers() == 0 || !step) return QWidget::keyPressEvent(event);
    const int layer = std::clamp(layer_ + step->down, 0, layers() - 1);
    emit chosen(layer, std::clamp(head_ + step->right, 0, std::max(headsOf(layer), 1) - 1));
}

} // namespace attn
