#include "app/lab/dialogs/finder.h"

#include "app/lab/common/fit_screen.h"
#include "app/lab/widgets/list_keys.h"
#include "app/lab/widgets/search_words.h"
#include "app/lab/widgets/widget_makers.h"

#include <QAbstractButton>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QPointer>
#include <QSet>
#include <QStyledItemDelegate>

#include <algorithm>
#include <utility>

namespace attn {
namespace {

constexpr int kKeys = Qt::UserRole; ///< role of the keys of an entry

/// Draws the keys of an entry at the right.
class EntryDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    static int firstLine(const QStyleOptionViewItem& option) {
        return std::min(option.rect.height(), option.fontMetrics.lineSpacing() + spacing::kGap);
    }
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        QStyledItemDelegate::paint(painter, option, index);
        const bool isChosen = option.state & QStyle::State_Selected;
        painter->setPen(option.palette.color(isChosen ? QPalette::HighlightedText : QPalette::PlaceholderText));
        const QRect line(option.rect.topLeft(), QSize(option.rect.width() - spacing::kGap, firstLine(option)));
        painter->drawText(line, Qt::AlignRight | Qt::AlignVCenter, index.data(kKeys).toString());
    }
};

} // namespace

Finder::Finder(std::vector<Entry> entries, QWidget* parent)
    : QDialog(parent), entries_(std::move(entries)),
      words_(
          named(new QLineEdit, "finderWords", tr("Words to find"),
                tr("Type words of what you look for: an action, a control, a panel, a part of attention, a lesson, a "
                   "model, or a word whose meaning you want to know"))),
      list_(spoken(new QListWidget, "finderList", tr("Results"))) {
    setObjectName("finder");
    setWindowTitle(tr("Find"));
    words_->setPlaceholderText(tr("Find an action, a control, a lesson, a model or what a word means"));
    new ListKeys(*words_, *list_);
    list_->setFocusPolicy(Qt::NoFocus);
    list_->setItemDelegate(new EntryDelegate(list_));
    list_->setWordWrap(true);
    makeColumn(this, spacing::kGap, {words_, {list_, 1}});
    connect(words_, &QLineEdit::textChanged, this, &Finder::find);
    connect(words_, &QLineEdit::returnPressed, this, [this] { choose(list_->currentRow()); });
    connect(list_, &QListWidget::itemClicked, this, [this] { choose(list_->currentRow()); });
    resize(fontMetrics().averageCharWidth() * 80, fontMetrics().height() * 22);
    fitScreen(*this);
    find({});
}

void Finder::addControls(std::vector<Entry>& entries, const QWidget& panel, const QString& title,
                         const std::function<void()>& show) {
    QSet<QString> taken;
    for (const Entry& entry : entries)
        if (entry.open) taken << entry.title;
    for (QWidget* control : panel.findChildren<QWidget*>()) {
        const auto* button = qobject_cast<QAbstractButton*>(control);
        const QString name =
            control->accessibleName().isEmpty() && button ? shownOnButton(button->text()) : control->accessibleName();
        const bool isUsable = control->focusPolicy() != Qt::NoFocus && control->isEnabledTo(&panel) &&
                              control->isVisibleTo(&panel) && !control->toolTip().isEmpty();
        if (!isUsable || name.isEmpty() || taken.contains(name)) continue;
        taken << name;
        entries.push_back({name,
                           tr("Control in %1").arg(title),
                           {},
                           [show, control = QPointer<QWidget>(control)] {
                               show();
                               if (control) control->setFocus(Qt::ShortcutFocusReason);
                           },
                           control->toolTip()});
    }
}

void Finder::find(const QString& words) {
    const QStringList wanted = wantedWords(words);
    found_.clear();
    list_->clear();
    // Entries with most of the words; if possible, all of them.
    std::vector<qsizetype> counts(entries_.size(), 0);
    std::vector<bool> isNamed(entries_.size(), true); // matches without the help
    for (size_t i = 0; i < entries_.size(); ++i) {
        const QString name = entries_[i].title + ' ' + entries_[i].kind;
        for (const QString& word : wanted) {
            const bool isInName = name.contains(word, Qt::CaseInsensitive);
            if (isInName || hasWord(entries_[i].help, word)) ++counts[i];
            if (!isInName) isNamed[i] = false;
        }
    }
    const qsizetype most = counts.empty() ? 0 : std::ranges::max(counts);
    for (size_t i = 0; i < entries_.size(); ++i)
        if (counts[i] == most && (most > 0 || wanted.isEmpty())) found_.push_back(i);
    if (!wanted.isEmpty())
        std::ranges::stable_sort(found_, {}, [&](size_t i) {
            return std::pair(!isNamed[i], rankOfTitle(entries_[i].title, wanted.join(' ')));
        });
    for (const size_t i : found_) {
        const Entry& entry = entries_[i];
        const bool explains =
            !wanted.isEmpty() && !entry.help.isEmpty() && (!entry.open || !isNamed[i] || entry.explains);
        const QString title = QStringLiteral("%1   ·   %2").arg(entry.title, entry.kind);
        auto* item = new QListWidgetItem(explains ? title + '\n' + entry.help : title, list_);
        item->setData(kKeys, entry.keys);
    }
    if (found_.empty()) {
        auto* nothing =
            new QListWidgetItem(tr("Nothing found for “%1”. Try another word.").arg(words.trimmed()), list_);
        nothing->setFlags(Qt::NoItemFlags);
    }
    list_->setCurrentRow(0);
}

void Finder::choose(int row) {
    if (row < 0 || row >= static_cast<int>(found_.size())) return;
    const auto action = entries_[found_[static_cast<size_t>(row)]].open;
    if (!action) return; // the list already shows its meaning
    accept();
    action();
}

} // namespace attn
