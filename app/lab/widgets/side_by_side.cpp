#include "app/lab/widgets/side_by_side.h"

#include <QBoxLayout>
#include <QEvent>

#include <algorithm>

namespace attn {
namespace {

int leastWidth(const QWidget& part) { return std::max(part.minimumSizeHint().width(), part.minimumWidth()); }

} // namespace

SideBySide::SideBySide(QWidget* first, QWidget* second, int firstShare, int secondShare)
    : first_(first), second_(second), row_(new QBoxLayout(QBoxLayout::LeftToRight, this)) {
    row_->setContentsMargins(0, 0, 0, 0);
    row_->setSizeConstraint(QLayout::SetNoConstraint); // the least width is that of the column
    row_->addWidget(first, firstShare);
    row_->addWidget(second, secondShare);
}

QSize SideBySide::minimumSizeHint() const {
    const bool isRow = row_->direction() == QBoxLayout::LeftToRight;
    const int height = isRow
                           ? std::max(first_->minimumSizeHint().height(), second_->minimumSizeHint().height())
                           : first_->minimumSizeHint().height() + row_->spacing() + second_->minimumSizeHint().height();
    return {std::max(leastWidth(*first_), leastWidth(*second_)), height};
}

void SideBySide::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    arrange();
}

bool SideBySide::event(QEvent* event) {
    if (event->type() == QEvent::LayoutRequest) arrange();
    return QWidget::event(event);
}

void SideBySide::arrange() {
    const int both = leastWidth(*first_) + row_->spacing() + leastWidth(*second_);
    const auto direction = width() >= both || second_->isHidden() ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom;
    if (direction == row_->direction()) return;
    row_->setDirection(direction);
    updateGeometry();
}

} // namespace attn
