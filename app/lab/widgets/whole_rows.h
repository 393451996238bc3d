#pragma once

#include <QEvent>
#include <QHeaderView>
#include <QStyle>
#include <QStyleOptionViewItem>
#include <QTreeView>

namespace attn {

/// Gives a list the height of so many whole rows below its titles, also where text has another size.
class WholeRows : public QObject {
public:
    WholeRows(QTreeView& list, int rows) : QObject(&list), list_(list) {
        list.installEventFilter(this);
        setRows(rows);
    }
    void setRows(int rows) {
        rows_ = rows;
        fit();
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        const QEvent::Type type = event->type();
        if (type == QEvent::FontChange || type == QEvent::StyleChange || type == QEvent::Show) fit();
        return QObject::eventFilter(watched, event);
    }

private:
    void fit() {
        QStyleOptionViewItem row;
        row.initFrom(&list_);
        row.features = QStyleOptionViewItem::HasDisplay;
        row.text = QStringLiteral("X");
        const int height = list_.style()->sizeFromContents(QStyle::CT_ItemViewItem, &row, {}, &list_).height(),
                  titles = list_.isHeaderHidden() ? 0 : list_.header()->sizeHint().height();
        list_.setFixedHeight(titles + rows_ * height + 2 * list_.frameWidth());
    }

    QTreeView& list_;
    int rows_ = 0;
};

} // namespace attn
