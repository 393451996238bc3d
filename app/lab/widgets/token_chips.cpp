#include "app/lab/widgets/token_chips.h"

#include "app/figures/token_label.h"
#include "app/lab/bridge/token_text.h"
#include "app/lab/common/theme.h"
#include "app/lab/widgets/tool_tip.h"

#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>

#include <algorithm>
#include <utility>

namespace attn {
namespace {
constexpr int kGap = 3;
constexpr int kPadding = 5;
// Four hues that colour-blind readers can tell apart. Only neighbours must differ.
constexpr int kHues[] = {210, 40, 165, 300};
} // namespace

TokenChips::TokenChips(QWidget* parent) : QAbstractScrollArea(parent) {
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    viewport()->setCursor(Qt::PointingHandCursor);
    viewport()->setMouseTracking(true);
}

void TokenChips::setTokens(std::span<const TokenInfo> tokens) {
    chips_.clear();
    QStringList spoken;
    for (const TokenInfo& token : tokens) {
        const QString label = visibleText(QString::fromStdString(token.text));
        spoken << tr("%1, id %2").arg(label, QString::number(token.id));
        chips_.push_back({token, label, {}});
    }
    focused_ = std::min(focused_, count() - 1);
    setAccessibleDescription((count() == 1 ? tr("1 token: ") : tr("%1 tokens: ").arg(count())) + spoken.join("; "));
    layOut();
    updateGeometry();
    viewport()->update();
}

void TokenChips::setEmptyText(const QString& text) {
    emptyText_ = text;
    viewport()->update();
}

void TokenChips::layOut() {
    const QFontMetrics text(font()), ids(textFont(TextSize::Caption));
    const int height = text.height() + ids.height() + 5;
    const int width = viewport()->width();
    int x = kGap, y = kGap;
    for (Chip& chip : chips_) {
        const int wanted =
            std::max(text.horizontalAdvance(chip.label), ids.horizontalAdvance(QString::number(chip.token.id)));
        const int chipWidth =
            std::min(std::max(wanted, text.averageCharWidth()) + 2 * kPadding, std::max(20, width - 2 * kGap));
        if (x > kGap && x + chipWidth + kGap > width) {
            x = kGap;
            y += height + kGap;
        }
        chip.rect = QRect(x, y, chipWidth, height);
        x += chipWidth + kGap;
    }
    contentHeight_ = chips_.empty() ? 0 : y + height + kGap;
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(height / 2);
    verticalScrollBar()->setRange(0, std::max(0, contentHeight_ - viewport()->height()));
}

QRect TokenChips::chipRect(int index) const {
    return chips_[static_cast<size_t>(index)].rect.translated(0, -verticalScrollBar()->value());
}

int TokenChips::chipAt(const QPoint& position) const {
    for (int i = 0; i < count(); ++i)
        if (chipRect(i).contains(position)) return i;
    return -1;
}

void TokenChips::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    if (chips_.empty()) {
        painter.setPen(palette().color(QPalette::PlaceholderText));
        painter.drawText(viewport()->rect().adjusted(8, 4, -8, -4),
                         static_cast<int>(Qt::AlignLeft | Qt::AlignTop) | Qt::TextWordWrap, emptyText_);
        return;
    }
    painter.setRenderHint(QPainter::Antialiasing);
    const bool isDark = palette().color(QPalette::Base).lightness() < 128;
    const int textHeight = QFontMetrics(font()).height();
    for (int i = 0; i < count(); ++i) {
        const QRect rect = chipRect(i);
        if (!rect.intersects(viewport()->rect())) continue;
        const Chip& chip = chips_[static_cast<size_t>(i)];
        const QColor fill = chip.token.isSpecial ? palette().color(QPalette::Button)
                                                 : QColor::fromHsv(kHues[i % 4], isDark ? 130 : 60, isDark ? 95 : 250);
        const bool isFocused = (hasFocus() && i == focused_) || i == highlighted_;
        painter.setPen(isFocused ? QPen(palette().color(QPalette::Highlight), 2)
                                 : QPen(palette().color(QPalette::Midlight), 1));
        painter.setBrush(fill);
        painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
        painter.setFont(font());
        painter.setPen(palette().color(QPalette::Text));
        painter.drawText(rect.adjusted(2, 2, -2, 0), Qt::AlignHCenter | Qt::AlignTop, chip.label);
        painter.setFont(textFont(TextSize::Caption));
        QColor faint = palette().color(QPalette::Text);
        faint.setAlpha(isDark ? 200 : 170);
        painter.setPen(faint);
        painter.drawText(rect.adjusted(2, 2 + textHeight, -2, 0), Qt::AlignHCenter | Qt::AlignTop,
                         QString::number(chip.token.id));
    }
}

void TokenChips::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    layOut();
}

void TokenChips::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) layOut();
}

void TokenChips::setHighlighted(int index) {
    highlighted_ = index;
    viewport()->update();
}

void TokenChips::hover(int index) {
    if (index != std::exchange(hovered_, index)) emit tokenHovered(index);
}

void TokenChips::mouseMoveEvent(QMouseEvent* event) { hover(chipAt(event->position().toPoint())); }

void TokenChips::leaveEvent(QEvent* event) {
    QAbstractScrollArea::leaveEvent(event);
    hover(-1);
}

void TokenChips::mouseReleaseEvent(QMouseEvent* event) {
    const int index = chipAt(event->position().toPoint());
    if (index < 0 || event->button() != Qt::LeftButton) return;
    focused_ = index;
    viewport()->update();
    emit tokenClicked(index);
}

void TokenChips::keyPressEvent(QKeyEvent* event) {
    const int step = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
    if (step != 0 && count() > 0) {
        focused_ = std::clamp(focused_ + step, 0, count() - 1);
        const QRect rect = chipRect(focused_);
        if (rect.top() < 0) verticalScrollBar()->setValue(verticalScrollBar()->value() + rect.top() - kGap);
        if (rect.bottom() > viewport()->height())
            verticalScrollBar()->setValue(verticalScrollBar()->value() + rect.bottom() + kGap - viewport()->height());
        viewport()->update();
    } else if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && focused_ >= 0) {
        emit tokenClicked(focused_);
    } else {
        QAbstractScrollArea::keyPressEvent(event);
    }
}

bool TokenChips::viewportEvent(QEvent* event) {
    const auto textAt = [this](const QPoint& point) {
        const int index = chipAt(point);
        if (index < 0) return QString();
        const Chip& chip = chips_[static_cast<size_t>(index)];
        const QString text =
            tr("Token %1: “%2”, id %3. %4")
                .arg(QString::number(index), chip.label, QString::number(chip.token.id), tokenRemark(chip.label));
        return QStringLiteral("%1 %2").arg(text.trimmed(), clickHelp_).trimmed();
    };
    return showTip(this, event, textAt) || QAbstractScrollArea::viewportEvent(event);
}

QSize TokenChips::sizeHint() const {
    return {300, std::clamp(contentHeight_ + 4, 2 * fontMetrics().height() + 16, 6 * fontMetrics().height())};
}

QSize TokenChips::minimumSizeHint() const { return {120, 2 * fontMetrics().height() + 12}; }

} // namespace attn
