#include "app/lab/widgets/idea_list.h"

#include "app/lab/widgets/item_delegates.h"

#include <QComboBox>
#include <QCompleter>
#include <QListView>
#include <QScrollBar>

namespace attn {
namespace {

/// A drop-down list as wide as its widest entry. It measures its entries when it opens. Otherwise a change of the font
/// would lay out the sentences of every closed list.
class IdeaList : public QListView {
public:
    IdeaList() {
        setEditTriggers(NoEditTriggers);
        setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    }
    QRect visualRect(const QModelIndex& index) const override {
        // A combo box asks for its height with this before it shows the list.
        if (isStale_) const_cast<IdeaList*>(this)->measure();
        return QListView::visualRect(index);
    }
    void doItemsLayout() override {
        isStale_ = !isVisible();
        if (!isStale_) measure();
    }

protected:
    void showEvent(QShowEvent* event) override {
        measure();
        QListView::showEvent(event);
    }

private:
    void measure() {
        isStale_ = false;
        QListView::doItemsLayout();
        setMinimumWidth(sizeHintForColumn(0) + verticalScrollBar()->sizeHint().width() + 2 * frameWidth());
    }

    bool isStale_ = true;
};

} // namespace

void showIdeas(QComboBox& box) {
    box.setView(new IdeaList);
    box.view()->setItemDelegate(new DescribedDelegate(box.view()));
    if (QCompleter* completer = box.completer()) {
        completer->setPopup(new IdeaList);
        completer->popup()->setItemDelegate(new DescribedDelegate(completer->popup()));
    }
}

void addIdea(QComboBox& box, const QString& idea, const QString& toolTip) {
    const qsizetype end = idea.indexOf(QStringLiteral(". "));
    const int last = box.count() - 1;
    box.setItemData(last, end < 0 ? idea : idea.first(end + 1), Qt::AccessibleDescriptionRole);
    box.setItemData(last, toolTip, Qt::ToolTipRole);
}

} // namespace attn
