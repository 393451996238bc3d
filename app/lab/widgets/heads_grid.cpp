#include "app/lab/widgets/heads_grid.h"

#include "app/figures/difference.h"
#include "app/figures/head_label.h"
#include "app/figures/thumbnail_grid_figure.h"
#include "app/lab/widgets/arrow_step.h"
#include "app/lab/widgets/tool_tip.h"

#include <QPainter>
#include <QScrollBar>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {
constexpr int kGap = 3;
constexpr float kGateStep = 0.1f;

float ablated(float gate) { return gate > 0 ? 0.0f : 1.0f; }

QString gateText(float share) {
    return share > 0 ? HeadsGrid::tr("It keeps %1 % of its output.").arg(qRound(share * 100))
                     : HeadsGrid::tr("It is removed.");
}
} // namespace

HeadsGrid::HeadsGrid(QWidget* parent) : QAbstractScrollArea(parent) {
    setFocusPolicy(Qt::StrongFocus);
    say();
    viewport()->setCursor(Qt::PointingHandCursor);
}

void HeadsGrid::setRows(std::shared_ptr<const ReadoutRows> rows, const std::shared_ptr<const ReadoutRows>& before) {
    if (rows == rows_ && before == before_) return;
    rows_ = std::move(rows);
    before_ = before;
    change_ = rows_ && before && haveSameCells(*rows_, *before) ? changeOf(*rows_, *before) : std::vector<float>();
    viewport()->update();
}

void HeadsGrid::setGates(std::map<std::pair<int, int>, float> gates, int layers, int heads) {
    const bool isReshaped = layers != layers_ || heads != heads_;
    if (!isReshaped && gates == gates_) return;
    gates_ = std::move(gates);
    layers_ = layers;
    heads_ = heads;
    layer_ = std::clamp(layer_, 0, std::max(0, layers - 1));
    head_ = std::clamp(head_, 0, std::max(0, heads - 1));
    if (isReshaped) layOut();
    say();
    viewport()->update();
}

void HeadsGrid::setSiteLabels(std::vector<QString> labels) {
    if (labels == siteLabels_) return;
    siteLabels_ = std::move(labels);
    layOut();
    viewport()->update();
}

QString HeadsGrid::siteLabel(int site) const {
    return static_cast<size_t>(site) < siteLabels_.size() ? siteLabels_[static_cast<size_t>(site)] : layerLabel(site);
}

void HeadsGrid::setHue(const QColor& hue) {
    hue_ = hue;
    viewport()->update();
}

void HeadsGrid::say() {
    setAccessibleDescription(
        layers_ > 0 ? tr("%1. %2").arg(headTitle({layer_, head_}, siteLabel(layer_)), gateText(gate(layer_, head_)))
                    : tr("Open a model to see where its heads look."));
}

float HeadsGrid::gate(int layer, int head) const {
    const auto found = gates_.find({layer, head});
    return found == gates_.end() ? 1.0f : found->second;
}

void HeadsGrid::layOut() {
    const QFontMetrics metrics(font());
    labelWidth_ = metrics.horizontalAdvance(QStringLiteral("L00"));
    for (const QString& label : siteLabels_) labelWidth_ = std::max(labelWidth_, metrics.horizontalAdvance(label));
    labelWidth_ += 8;
    headerHeight_ = metrics.height() + 2;
    cellHeight_ = std::max(22, metrics.height() + 6);
    const int room = viewport()->width() - labelWidth_ - kGap;
    cellWidth_ = heads_ > 0 ? std::max(metrics.horizontalAdvance(QStringLiteral("H000")), room / heads_ - kGap) : 60;
    const int width = labelWidth_ + heads_ * (cellWidth_ + kGap),
              height = headerHeight_ + layers_ * (cellHeight_ + kGap);
    horizontalScrollBar()->setPageStep(viewport()->width());
    horizontalScrollBar()->setRange(0, std::max(0, width - viewport()->width()));
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setRange(0, std::max(0, height - viewport()->height()));
    verticalScrollBar()->setSingleStep(cellHeight_);
}

QRect HeadsGrid::cellRect(int layer, int head) const {
    return {labelWidth_ + head * (cellWidth_ + kGap) - horizontalScrollBar()->value(),
            headerHeight_ + layer * (cellHeight_ + kGap) - verticalScrollBar()->value(), cellWidth_, cellHeight_};
}

bool HeadsGrid::cellAt(const QPoint& position, int& layer, int& head) const {
    const int x = position.x() + horizontalScrollBar()->value() - labelWidth_;
    const int y = position.y() + verticalScrollBar()->value() - headerHeight_;
    if (x < 0 || y < 0) return false;
    head = x / (cellWidth_ + kGap);
    layer = y / (cellHeight_ + kGap);
    return head < heads_ && layer < layers_;
}

void HeadsGrid::paintCell(QPainter& painter, int layer, int head) const {
    const QRect cell = cellRect(layer, head);
    if (!cell.intersects(viewport()->rect())) return;
    const float open = gate(layer, head);
    const QRect stripes = cell.adjusted(1, 1, -1, -6);
    painter.fillRect(cell, palette().color(QPalette::AlternateBase));
    if (rows_ && rows_->sites == layers_ && rows_->heads == heads_ && rows_->keys > 0) {
        const bool isChange = showsChange();
        const float* values =
            shown().data() + static_cast<size_t>(layer * heads_ + head) * static_cast<size_t>(rows_->keys);
        // One stripe per key, or per pixel if keys are narrower. So that no peak is lost, a pixel shows its strongest
        // key.
        const int count = std::min(rows_->keys, stripes.width());
        for (int i = 0; i < count; ++i) {
            const int begin = static_cast<int>(static_cast<int64_t>(i) * rows_->keys / count);
            const int end = std::max(begin + 1, static_cast<int>(static_cast<int64_t>(i + 1) * rows_->keys / count));
            const float strongest = *std::max_element(values + begin, values + end,
                                                      [](float a, float b) { return std::abs(a) < std::abs(b); });
            const int x0 = stripes.left() + i * stripes.width() / count,
                      x1 = stripes.left() + (i + 1) * stripes.width() / count;
            QColor colour = isChange ? changeColour(strongest) : hue_;
            colour.setAlphaF(std::clamp(std::sqrt(std::abs(strongest)), 0.0f, 1.0f) *
                             (isChange ? 1.0f : 0.25f + 0.75f * open));
            painter.fillRect(QRect(x0, stripes.top(), std::max(1, x1 - x0), stripes.height()), colour);
        }
    }
    const QRect bar(cell.left() + 1, cell.bottom() - 4, cell.width() - 2, 4);
    painter.fillRect(bar, palette().color(QPalette::Midlight));
    painter.fillRect(QRect(bar.left(), bar.top(),
                           static_cast<int>(std::lround(static_cast<float>(bar.width()) * std::min(open, 1.0f))), 4),
                     palette().color(QPalette::Highlight));
    if (open <= 0) {
        painter.setPen(QPen(palette().color(QPalette::Text), 1));
        painter.drawLine(stripes.topLeft(), stripes.bottomRight());
    }
    const bool isSelected = layer == layer_ && head == head_;
    painter.setPen(
        QPen(palette().color(isSelected ? (hasFocus() ? QPalette::Highlight : QPalette::Text) : QPalette::Midlight),
             isSelected ? 2 : 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(cell.adjusted(0, 0, -1, -1));
}

void HeadsGrid::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    if (layers_ == 0) {
        painter.setPen(palette().color(QPalette::PlaceholderText));
        painter.drawText(viewport()->rect().adjusted(8, 8, -8, -8),
                         static_cast<int>(Qt::AlignCenter) | Qt::TextWordWrap,
                         tr("Open a model to see where its heads look."));
        return;
    }
    painter.setPen(palette().color(QPalette::Text));
    for (int head = 0; head < heads_; ++head) {
        const QRect cell = cellRect(0, head);
        painter.drawText(QRect(cell.left(), -verticalScrollBar()->value(), cell.width(), headerHeight_),
                         Qt::AlignCenter, headColumnLabel(head));
    }
    for (int layer = 0; layer < layers_; ++layer) {
        const QRect cell = cellRect(layer, 0);
        painter.setPen(palette().color(QPalette::Text));
        painter.drawText(QRect(cell.left() - labelWidth_, cell.top(), labelWidth_ - 4, cell.height()),
                         Qt::AlignRight | Qt::AlignVCenter, siteLabel(layer));
        for (int head = 0; head < heads_; ++head) paintCell(painter, layer, head);
    }
}

void HeadsGrid::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    layOut();
}

void HeadsGrid::select(int layer, int head) {
    if (layer < 0 || head < 0 || layer >= layers_ || head >= heads_) return;
    layer_ = layer;
    head_ = head;
    say();
    const QRect cell = cellRect(layer, head);
    const auto show = [](QScrollBar* bar, int begin, int end, int first, int last) {
        if (begin < first) bar->setValue(bar->value() + begin - first);
        if (end > last) bar->setValue(bar->value() + end - last);
    };
    show(verticalScrollBar(), cell.top() - kGap, cell.bottom() + kGap, headerHeight_, viewport()->height());
    show(horizontalScrollBar(), cell.left() - kGap, cell.right() + kGap, labelWidth_, viewport()->width());
    viewport()->update();
}

void HeadsGrid::choose(int layer, int head) {
    if (layer < 0 || head < 0 || layer >= layers_ || head >= heads_) return;
    select(layer, head);
    emit selected(layer, head);
}

void HeadsGrid::mousePressEvent(QMouseEvent* event) {
    int layer = 0, head = 0;
    if (event->button() == Qt::LeftButton && cellAt(event->position().toPoint(), layer, head)) choose(layer, head);
}

void HeadsGrid::mouseDoubleClickEvent(QMouseEvent* event) {
    int layer = 0, head = 0;
    if (event->button() == Qt::LeftButton && cellAt(event->position().toPoint(), layer, head))
        emit gateRequested(layer, head, ablated(gate(layer, head)));
}

void HeadsGrid::keyPressEvent(QKeyEvent* event) {
    if (layers_ == 0) return QAbstractScrollArea::keyPressEvent(event);
    const float present = gate(layer_, head_);
    if (const auto step = arrowStep(*event)) return choose(layer_ + step->down, head_ + step->right);
    switch (event->key()) {
    case Qt::Key_Space:
        return emit gateRequested(layer_, head_, ablated(present));
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        return emit gateRequested(layer_, head_, std::min(1.0f, present + kGateStep));
    case Qt::Key_Minus:
        return emit gateRequested(layer_, head_, std::max(0.0f, present - kGateStep));
    default:
        QAbstractScrollArea::keyPressEvent(event);
    }
}

bool HeadsGrid::viewportEvent(QEvent* event) {
    const auto textAt = [this](const QPoint& point) {
        int layer = 0, head = 0;
        if (!cellAt(point, layer, head)) return QString();
        return (showsChange() ? tr("%1: where %2 looks more (red) or less (blue) than in the original run. %3 "
                                   "Double-click to remove or restore the head.")
                              : tr("%1: where %2 looks. %3 Double-click to remove or restore the head."))
            .arg(headTitle({layer, head}, siteLabel(layer)), readoutToken_, gateText(gate(layer, head)));
    };
    return showTip(this, event, textAt) || QAbstractScrollArea::viewportEvent(event);
}

QSize HeadsGrid::sizeHint() const { return {320, headerHeight_ + std::max(2, layers_) * (cellHeight_ + kGap) + 4}; }

} // namespace attn
