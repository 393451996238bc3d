#include "app/lab/dialogs/finder.h"

#include "app/lab/widgets/widget_makers.h"

#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QStyledItemDelegate>

#include <algorithm>

namespace attn {
namespace {

constexpr int kKeys = Qt::UserRole; ///< role of the keys of an entry

/// Draws the keys of an entry at the right.
class EntryDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        QStyledItemDelegate::paint(painter, option, index);
        const bool isChosen = option.state & QStyle::State_Selected;
        painter->setPen(option.palette.color(isChosen ? QPalette::HighlightedText : QPalette::PlaceholderText));
        painter->drawText(option.rect.adjusted(0, 0, -spacing::kGap, 0), Qt::AlignRight | Qt::AlignVCenter,
                          index.data(kKeys).toString());
    }
};

/// How well a title answers: 0 if it is the words, 1 if it begins with them, 2 if it begins with a longer word, 3 if
/// another of its words begins so, else 4.
int rankOf(const QString& title, const QString& words) {
    if (title.compare(words, Qt::CaseInsensitive) == 0) return 0;
    if (title.startsWith(words + ' ', Qt::CaseInsensitive)) return 1;
    if (title.startsWith(words, Qt::CaseInsensitive)) return 2;
    return title.contains(' ' + words, Qt::CaseInsensitive) ? 3 : 4;
}

} // namespace

Finder::Finder(std::vector<Entry> entries, QWidget* parent)
    : QDialog(parent), entries_(std::move(entries)),
      words_(named(new QLineEdit, "finderWords", tr("Words to find"),
                   tr("Type words of the name of an action, a panel, a part of attention, a lesson or a model"))),
      list_(spoken(new QListWidget, "finderList", tr("Results"))) {
    setObjectName("finder");
    setWindowTitle(tr("Find"));
    words_->setPlaceholderText(tr("Find an action, a panel, a part, a lesson or a model"));
    words_->installEventFilter(this);
    list_->setFocusPolicy(Qt::NoFocus);
    list_->setItemDelegate(new EntryDelegate(list_));
    makeColumn(this, spacing::kGap, {words_, {list_, 1}});
    connect(words_, &QLineEdit::textChanged, this, &Finder::find);
    connect(words_, &QLineEdit::returnPressed, this, [this] { choose(list_->currentRow()); });
    connect(list_, &QListWidget::itemClicked, this, [this] { choose(list_->currentRow()); });
    resize(fontMetrics().averageCharWidth() * 80, fontMetrics().height() * 22);
    find({});
}

void Finder::find(const QString& words) {
    const QStringList wanted = words.split(' ', Qt::SkipEmptyParts);
    found_.clear();
    list_->clear();
    for (size_t i = 0; i < entries_.size(); ++i) {
        const QString text = entries_[i].title + ' ' + entries_[i].kind;
        if (std::ranges::all_of(wanted, [&](const auto& word) { return text.contains(word, Qt::CaseInsensitive); }))
            found_.push_back(i);
    }
    if (!wanted.isEmpty())
        std::ranges::stable_sort(found_, {}, [&](size_t i) { return rankOf(entries_[i].title, wanted.join(' ')); });
    for (const size_t i : found_) {
        const Entry& entry = entries_[i];
        auto* item = new QListWidgetItem(QStringLiteral("%1   ·   %2").arg(entry.title, entry.kind), list_);
        item->setData(kKeys, entry.keys);
    }
    list_->setCurrentRow(0);
}

void Finder::choose(int row) {
    if (row < 0 || row >= static_cast<int>(found_.size())) return;
    const auto action = entries_[found_[static_cast<size_t>(row)]].open;
    accept();
    action();
}

bool Finder::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        const int step = key == Qt::Key_Down       ? 1
                         : key == Qt::Key_Up       ? -1
                         : key == Qt::Key_PageDown ? 10
                         : key == Qt::Key_PageUp   ? -10
                                                   : 0;
        if (step != 0) {
            list_->setCurrentRow(std::clamp(list_->currentRow() + step, 0, std::max(0, list_->count() - 1)));
            return true;
        }
    }
    return QDialog::eventFilter(watched, event);
}

} // namespace attn
