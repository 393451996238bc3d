#include "app/lab/widgets/sliding_column.h"

#include "app/lab/common/icons.h"
#include "app/lab/common/motion.h"
#include "app/lab/widgets/widget_makers.h"

#include <QToolButton>

#include <algorithm>

namespace attn {

SlidingColumn::SlidingColumn(QWidget* content, QWidget* parent) : QWidget(parent), content_(new QWidget(this)) {
    auto* close = named(new QToolButton, "slidingColumnClose", tr("Close"), tr("Close this column"));
    close->setIcon(themedIcon("close"));
    close->setAutoRaise(true);
    makeColumn(content_, 0, {makeRow({room(), close}), {content, 1}});
    connect(close, &QToolButton::clicked, this, &SlidingColumn::closeAsked);
    // The content keeps its width while the column opens, so its text does not wrap again at each step.
    auto* row = makeRow(this, 0, {content_});
    row->setSizeConstraint(QLayout::SetNoConstraint);
    hide();
    connect(&slide_, &QVariantAnimation::valueChanged, this,
            [this](const QVariant& width) { setFixedWidth(width.toInt()); });
    connect(&slide_, &QVariantAnimation::finished, this, [this] { setVisible(isOpen_); });
}

int SlidingColumn::openWidth() const {
    const int room = parentWidget() ? parentWidget()->width() : 800;
    return std::clamp(fontMetrics().averageCharWidth() * 52, 200, std::max(200, room * 45 / 100));
}

QSize SlidingColumn::sizeHint() const { return {openWidth(), 200}; }

void SlidingColumn::setOpen(bool isOpen) {
    if (isOpen == isOpen_) return;
    isOpen_ = isOpen;
    const int from = isVisible() ? width() : 0, to = isOpen ? openWidth() : 0;
    content_->setFixedWidth(openWidth());
    slide_.stop();
    if (isOpen) {
        setFixedWidth(std::max(1, from));
        show();
    }
    slide_.setDuration(motionMs());
    slide_.setStartValue(std::max(1, from));
    slide_.setEndValue(std::max(1, to));
    slide_.start();
}

} // namespace attn
