#include "app/lab/widgets/flow_layout.h"

#include "app/lab/widgets/widget_makers.h"

#include <QStyle>
#include <QWidget>

#include <algorithm>
#include <vector>

namespace attn {

FlowLayout::FlowLayout(QWidget* parent) : QLayout(parent) {
    setContentsMargins(0, 0, 0, 0);
    setSpacing(spacing::kGap);
}

FlowLayout::~FlowLayout() { qDeleteAll(items_); }

QWidget* FlowLayout::addLabelled(const QString& text, QWidget* control) {
    auto* pair = new QWidget;
    auto* label = plainLabel(text);
    label->setBuddy(control);
    makeRow(pair, 0, {label, control});
    addWidget(pair);
    return pair;
}

void FlowLayout::addStretched(QWidget* control) {
    stretched_ << control;
    addWidget(control);
}

QLayoutItem* FlowLayout::takeAt(int index) {
    return index >= 0 && index < items_.size() ? items_.takeAt(index) : nullptr;
}

int FlowLayout::heightForWidth(int width) const { return arrange(QRect(0, 0, width, 0), false); }

void FlowLayout::setGeometry(const QRect& rect) {
    QLayout::setGeometry(rect);
    arrange(rect, true);
}

QSize FlowLayout::sizeHint() const {
    int width = -spacing();
    for (const QLayoutItem* item : items_)
        if (!item->isEmpty()) width += item->sizeHint().width() + spacing();
    width = std::max(0, width);
    return {width, heightForWidth(width)};
}

QSize FlowLayout::minimumSize() const {
    QSize size;
    for (const QLayoutItem* item : items_)
        if (!item->isEmpty()) size = size.expandedTo(item->minimumSize());
    return size;
}

int FlowLayout::arrange(const QRect& rect, bool isApplied) const {
    std::vector<std::pair<QLayoutItem*, QRect>> line;
    int x = rect.left(), y = rect.top(), lineHeight = 0;
    const auto endLine = [&] {
        int shift = 0; // width that stretched controls to the left have added
        for (auto& [item, place] : line) {
            place.translate(shift, 0);
            if (shift == 0 && item->widget() && stretched_.contains(item->widget())) {
                shift = std::max(0, rect.right() + 1 + spacing() - x);
                place.setWidth(place.width() + shift);
            }
            place.moveTop(y + (lineHeight - place.height()) / 2);
            const Qt::LayoutDirection direction = parentWidget() ? parentWidget()->layoutDirection() : Qt::LeftToRight;
            if (isApplied) item->setGeometry(QStyle::visualRect(direction, rect, place));
        }
        line.clear();
    };
    for (QLayoutItem* item : items_) {
        if (item->isEmpty()) continue;
        if (item->widget()) item->widget()->ensurePolished(); // a style sheet changes its size
        QSize size = item->sizeHint().boundedTo(
            QSize(std::max(rect.width(), item->minimumSize().width()), item->sizeHint().height()));
        if (item->hasHeightForWidth()) size.setHeight(item->heightForWidth(size.width())); // lines in a line
        if (x + size.width() > rect.right() + 1 && !line.empty()) {
            endLine();
            y += lineHeight + spacing();
            x = rect.left();
            lineHeight = 0;
        }
        line.emplace_back(item, QRect(QPoint(x, y), size));
        x += size.width() + spacing();
        lineHeight = std::max(lineHeight, size.height());
    }
    endLine();
    return y + lineHeight - rect.top();
}

} // namespace attn
