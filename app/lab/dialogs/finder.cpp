#include "app/lab/dialogs/finder.h"

#include "app/lab/widgets/widget_makers.h"

#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>

#include <algorithm>

namespace attn {

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
    // Titles that begin with the first word come first.
    if (!wanted.isEmpty())
        std::ranges::stable_partition(
            found_, [&](size_t i) { return entries_[i].title.startsWith(wanted.front(), Qt::CaseInsensitive); });
    for (const size_t i : found_) {
        const Entry& entry = entries_[i];
        const QString keys = entry.keys.isEmpty() ? QString() : QStringLiteral("   ") + entry.keys;
        list_->addItem(QStringLiteral("%1   ·   %2%3").arg(entry.title, entry.kind, keys));
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
