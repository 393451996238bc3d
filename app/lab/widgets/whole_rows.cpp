#include "app/lab/widgets/whole_rows.h"

#include <QAbstractItemView>
#include <QFileDialog>
#include <QListView>
#include <QTableView>

#include <algorithm>

namespace attn {
namespace {

constexpr const char* kGiven = "givenHeight"; ///< the height that the layout gave to a list

/// Whether a list has rows below one another, as high as its layout wants.
bool fillsItsPlace(const QAbstractItemView& list) {
    if (list.minimumHeight() == list.maximumHeight() || list.isWindow()) return false;
    if (!list.parentWidget() || qobject_cast<const QFileDialog*>(list.window())) return false;
    if (list.window()->windowType() == Qt::Popup || list.parentWidget()->inherits("QComboBoxPrivateContainer"))
        return false;
    const auto* lines = qobject_cast<const QListView*>(&list);
    return qobject_cast<const QTreeView*>(&list) || qobject_cast<const QTableView*>(&list) ||
           (lines && lines->viewMode() == QListView::ListMode && lines->flow() == QListView::TopToBottom &&
            !lines->isWrapping());
}

QModelIndex below(const QAbstractItemView& list, const QModelIndex& row) {
    if (const auto* tree = qobject_cast<const QTreeView*>(&list)) return tree->indexBelow(row);
    return row.siblingAtRow(row.row() + 1);
}

int heightOf(const QAbstractItemView& list, const QModelIndex& row) { return list.visualRect(row).height(); }

/// The height of as many of the first rows as fit into a height, and of more such rows if these are too few.
int wholeRowsIn(const QAbstractItemView& list, int height) {
    if (!list.model()) return height;
    const QModelIndex root = list.rootIndex();
    int sum = 0, last = 0;
    for (QModelIndex row = list.model()->index(0, 0, root); row.isValid(); row = below(list, row)) {
        const int next = heightOf(list, row);
        if (next > 0) last = next;
        if (sum + next > height) return sum > 0 ? sum : height; // a single row may be higher than the list
        sum += next;
    }
    if (last == 0) last = rowHeight(list);
    return sum + (height - sum) / std::max(last, 1) * std::max(last, 1);
}

/// Whether the last row that is visible is cut off.
bool cutsRow(const QAbstractItemView& list) {
    const int height = list.viewport()->height();
    const QModelIndex row = list.indexAt({1, height - 1});
    return row.isValid() && list.visualRect(row).bottom() >= height;
}

} // namespace

int rowHeight(const QAbstractItemView& list) {
    QStyleOptionViewItem row;
    row.initFrom(&list);
    row.features = QStyleOptionViewItem::HasDisplay;
    row.text = QStringLiteral("X");
    return list.style()->sizeFromContents(QStyle::CT_ItemViewItem, &row, {}, &list).height();
}

bool WholeRowLists::eventFilter(QObject* watched, QEvent* event) {
    const QEvent::Type type = event->type();
    const bool mayCut = type == QEvent::Resize || type == QEvent::Show || type == QEvent::FontChange ||
                        type == QEvent::StyleChange || type == QEvent::Paint;
    if (!mayCut || isFitting_ || !watched->isWidgetType()) return false;
    auto* list = qobject_cast<QAbstractItemView*>(watched);
    if (list && type == QEvent::Resize && fillsItsPlace(*list)) {
        list->setProperty(kGiven, list->height());
        if (list->isVisible() && fit(*list)) return true; // the list has heard of its height
    }
    if (!list) { // events of what scrolls come to the viewport
        list = qobject_cast<QAbstractItemView*>(watched->parent());
        if (!list || watched != list->viewport()) return false;
        if (type == QEvent::Paint && !cutsRow(*list)) return false;
    } else if (type == QEvent::Paint) {
        return false;
    }
    // Later, when the list has laid itself out.
    if (fillsItsPlace(*list) && !list->property("fitsRows").toBool()) {
        list->setProperty("fitsRows", true);
        QMetaObject::invokeMethod(
            list,
            [this, list] {
                list->setProperty("fitsRows", false);
                fit(*list);
            },
            Qt::QueuedConnection);
    }
    return false;
}

bool WholeRowLists::fit(QAbstractItemView& list) {
    const QVariant given = list.property(kGiven);
    if (!given.isValid() || !list.isVisible() || !fillsItsPlace(list)) return false;
    const int chrome = std::max(list.height() - list.viewport()->height(), 0); // a viewport may keep an older size
    if (given.toInt() <= chrome) return false;                                 // no room for any row
    const int height = chrome + wholeRowsIn(list, given.toInt() - chrome);
    if (height < list.minimumHeight()) list.setMinimumHeight(height); // which the layout has just kept to
    if (height == list.height() || height > given.toInt()) return false;
    isFitting_ = true; // the layout has not asked for this height
    list.resize(list.width(), height);
    isFitting_ = false;
    return true;
}

} // namespace attn
