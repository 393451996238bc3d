#include "app/lab/widgets/token_strip.h"

#include "app/figures/difference.h"
#include "app/figures/drawing.h"
#include "app/lab/widgets/tool_tip.h"

#include <QFontMetrics>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {
namespace {
constexpr int kStripMargin = 4, kStripGap = 2, kStripPadding = 4;
constexpr int kMostLines = 3; ///< shown without scrolling

int lineHeight(const FigureTheme& theme) { return QFontMetrics(theme.textFont()).height() + 6; }
} // namespace

TokenStrip::TokenStrip(QWidget* parent) : QAbstractScrollArea(parent), theme_(FigureTheme::light()), shown_(theme_) {
    setFocusPolicy(Qt::StrongFocus);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    viewport()->setMouseTracking(true);
    setAccessibleName(tr("Tokens of the text, linked to the rows and columns of the heatmap"));
    setAccessibleDescription(tr("Nothing to show yet."));
}

void TokenStrip::setLabels(std::vector<QString> labels) {
    const bool isSame = std::equal(labels.begin(), labels.end(), chips_.begin(), chips_.end(),
                                   [](const QString& label, const Chip& chip) { return label == chip.label; });
    if (isSame) return;
    const bool isAtEnd = verticalScrollBar()->value() == verticalScrollBar()->maximum();
    chips_.clear();
    for (QString& label : labels) chips_.push_back({std::move(label), {}});
    shades_.clear();
    query_ = key_ = -1;
    hovered_ = std::min(hovered_, count() - 1);
    setAccessibleDescription(count() == 1 ? tr("1 token. Press an arrow key to read it.")
                                          : tr("%1 tokens. Press an arrow key to read one.").arg(count()));
    layOut();
    // Generated tokens stay visible, unless a person has scrolled away.
    if (isAtEnd) verticalScrollBar()->setValue(verticalScrollBar()->maximum());
}

void TokenStrip::setTheme(const FigureTheme& theme) {
    theme_ = theme;
    updateGeometry();
    layOut();
}

void TokenStrip::setMarks(int query, int key) {
    if (query == query_ && key == key_) return;
    if (std::exchange(query_, query) != query && query >= 0 && query < count()) { // stays in sight
        const QRect& chip = chips_[static_cast<size_t>(query)].rect;
        QScrollBar* bar = verticalScrollBar();
        if (chip.top() < bar->value()) bar->setValue(chip.top() - kStripMargin);
        if (chip.bottom() > bar->value() + viewport()->height())
            bar->setValue(chip.bottom() + kStripMargin - viewport()->height());
    }
    key_ = key;
    viewport()->update();
}

void TokenStrip::setShades(std::vector<float> shades, bool isChange) {
    if (shades == shades_ && isChange == areChanges_) return;
    shades_ = std::move(shades);
    areChanges_ = isChange;
    viewport()->update();
}

int TokenStrip::place() {
    const QFontMetrics metrics(shown_.textFont());
    const int right = viewport()->width() - kStripMargin, height = lineHeight(shown_);
    int x = kStripMargin, y = kStripMargin, lines = 1;
    for (Chip& chip : chips_) {
        const int width =
            std::min(metrics.horizontalAdvance(chip.label) + 2 * kStripPadding, std::max(20, right - kStripMargin));
        if (x + width > right && x > kStripMargin) {
            x = kStripMargin;
            y += height + kStripGap;
            ++lines;
        }
        chip.rect = QRect(x, y, width, height);
        x += width + kStripGap;
    }
    if (lines = std::min(lines, kMostLines); lines != lines_) {
        lines_ = lines;
        updateGeometry();
    }
    return chips_.empty() ? 0 : chips_.back().rect.bottom() + kStripMargin;
}

void TokenStrip::layOut() {
    const double least = grows_ ? theme_.inRoom({}).size : theme_.size;
    shown_ = grows_ ? theme_.inRoom(viewport()->size()) : theme_;
    int contentHeight = place();
    while (contentHeight > viewport()->height() && shown_.size > least) {
        shown_.size = std::max(least, shown_.size - 1);
        contentHeight = place();
    }
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(lineHeight(shown_));
    verticalScrollBar()->setRange(0, std::max(0, contentHeight - viewport()->height()));
    viewport()->update();
}

QRect TokenStrip::tokenRect(int index) const {
    if (index < 0 || index >= count()) return {};
    return chips_[static_cast<size_t>(index)].rect.translated(0, -verticalScrollBar()->value());
}

int TokenStrip::tokenAt(const QPoint& position) const {
    const QPoint content = position + QPoint(0, verticalScrollBar()->value());
    for (size_t i = 0; i < chips_.size(); ++i)
        if (chips_[i].rect.contains(content)) return static_cast<int>(i);
    return -1;
}

void TokenStrip::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    painter.fillRect(viewport()->rect(), shown_.background);
    painter.setRenderHint(QPainter::Antialiasing);
    const QColor light = shown_.background;
    for (int i = 0; i < count(); ++i) {
        const QRectF rect = tokenRect(i);
        if (!rect.intersects(viewport()->rect())) continue;
        QColor ground = shown_.plot, ink = shown_.text;
        if (static_cast<size_t>(i) < shades_.size()) {
            // Mixed with the background instead of transparent, because the ink depends on the visible colour.
            const float shade = shades_[static_cast<size_t>(i)];
            const float part = std::sqrt(std::clamp(areChanges_ ? std::abs(shade) : shade, 0.0f, 1.0f));
            const QColor full = areChanges_ ? changeColour(shade) : shown_.key;
            const auto mix = [part](int from, int to) {
                return static_cast<int>(
                    std::lround(static_cast<float>(from) * (1 - part) + static_cast<float>(to) * part));
            };
            ground =
                QColor(mix(light.red(), full.red()), mix(light.green(), full.green()), mix(light.blue(), full.blue()));
            ink = inkOn(ground.rgb());
        }
        painter.setPen(Qt::NoPen);
        painter.setBrush(ground);
        painter.drawRoundedRect(rect, 3, 3);
        painter.setBrush(Qt::NoBrush);
        const auto frame = [&](const QColor& colour, double inset) {
            painter.setPen(QPen(colour, 2));
            painter.drawRoundedRect(rect.adjusted(inset, inset, -inset, -inset), 3, 3);
        };
        if (i == query_) frame(shown_.query, 1);
        if (i == key_) frame(shown_.key, i == query_ ? 3 : 1);
        if (i == hovered_ && i != query_ && i != key_) frame(shown_.faint, 1);
        drawLine(painter, rect.adjusted(kStripPadding - 1, 0, -kStripPadding + 1, 0), Qt::AlignCenter,
                 chips_[static_cast<size_t>(i)].label, shown_.textFont(), ink);
    }
}

void TokenStrip::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    layOut();
}

void TokenStrip::hover(int index) {
    if (index == hovered_) return;
    hovered_ = index;
    viewport()->update();
    emit tokenHovered(index);
}

void TokenStrip::mouseMoveEvent(QMouseEvent* event) { hover(tokenAt(event->position().toPoint())); }

void TokenStrip::mousePressEvent(QMouseEvent* event) {
    const int index = tokenAt(event->position().toPoint());
    if (event->button() == Qt::LeftButton && index >= 0) emit tokenClicked(index);
}

void TokenStrip::keyPressEvent(QKeyEvent* event) {
    const bool isMove = event->key() == Qt::Key_Left || event->key() == Qt::Key_Right;
    if (count() > 0 && isMove) {
        const int next = std::clamp(hovered_ + (event->key() == Qt::Key_Left ? -1 : 1), 0, count() - 1);
        const QRect rect = tokenRect(next);
        if (rect.top() < 0) verticalScrollBar()->setValue(verticalScrollBar()->value() + rect.top() - kStripMargin);
        if (rect.bottom() > viewport()->height())
            verticalScrollBar()->setValue(verticalScrollBar()->value() + rect.bottom() + kStripMargin -
                                          viewport()->height());
        setAccessibleDescription(tr("Token %1: %2").arg(next).arg(chips_[static_cast<size_t>(next)].label));
        return hover(next);
    }
    if (hovered_ >= 0 && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)) {
        emit tokenClicked(hovered_);
        return;
    }
    QAbstractScrollArea::keyPressEvent(event);
}

bool TokenStrip::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave) hover(-1);
    const auto textAt = [this](const QPoint& point) {
        const int index = tokenAt(point);
        return index < 0 ? QString()
                         : tr("Token %1: “%2”. Click to keep its row marked.")
                               .arg(index)
                               .arg(chips_[static_cast<size_t>(index)].label);
    };
    return showTip(this, event, textAt) || QAbstractScrollArea::viewportEvent(event);
}

QSize TokenStrip::sizeHint() const { return {400, lines_ * (lineHeight(theme_) + kStripGap) + 2 * kStripMargin}; }
QSize TokenStrip::minimumSizeHint() const { return {80, lineHeight(theme_) + 2 * kStripMargin}; }

} // namespace attn
