#pragma once

#include <QEvent>
#include <QHeaderView>
#include <QStyle>
#include <QStyleOptionViewItem>
#include <QTreeView>

namespace attn {

/// The height of a row with one line of text, in pixels.
int rowHeight(const QAbstractItemView& list);

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
        const int titles = list_.isHeaderHidden() ? 0 : list_.header()->sizeHint().height();
        list_.setFixedHeight(titles + rows_ * rowHeight(list_) + 2 * list_.frameWidth());
    }

    QTreeView& list_;
    int rows_ = 0;
};

/// Ends lists that are as high as their layout wants below their last whole row: the rest of the place, less than a
/// row, stays empty. Install it on the application.
class WholeRowLists : public QObject {
public:
    using QObject::QObject;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    /// @return whether it has another height now
    bool fit(QAbstractItemView& list);
    bool isFitting_ = false;
};

} // namespace attn
