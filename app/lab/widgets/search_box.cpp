#include "app/lab/widgets/search_box.h"

#include "app/lab/common/focus_ring.h"
#include "app/lab/widgets/item_delegates.h"
#include "app/lab/widgets/list_keys.h"
#include "app/lab/widgets/search_words.h"
#include "app/lab/widgets/widget_makers.h"

#include <QMouseEvent>
#include <QScreen>
#include <QScrollBar>

#include <algorithm>

namespace attn {
namespace {

constexpr int kEntry = Qt::UserRole; ///< role of a row: the index of its entry in the box
constexpr int kHeightInLines = 24;   ///< height of the popup

} // namespace

void SearchBox::makePopup() {
    popup_ = spoken(new QFrame(this, Qt::Popup), objectName() + "Popup", accessibleName());
    popup_->setFrameShape(QFrame::StyledPanel);
    popup_->setAutoFillBackground(true);
    popup_->setProperty(FocusRing::kPopover, true);
    popup_->setAttribute(Qt::WA_NoMouseReplay); // else a click on the box, which closes it, opens it again
    words_ = named(new QLineEdit, objectName() + "Words", tr("Words to find"),
                   tr("Type words of an entry or of the sentence about it. The arrow keys choose, and Return takes."));
    words_->setPlaceholderText(tr("Type to search"));
    list_ = spoken(new QListWidget, objectName() + "List", accessibleName());
    list_->setFocusPolicy(Qt::NoFocus);
    list_->setItemDelegate(new DescribedDelegate(list_));
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    makeColumn(popup_, spacing::kGap, {words_, {list_, 1}});
    new ListKeys(*words_, *list_);
    connect(words_, &QLineEdit::textChanged, this, &SearchBox::search);
    connect(words_, &QLineEdit::returnPressed, this, [this] { choose(list_->currentItem()); });
    connect(list_, &QListWidget::itemClicked, this, &SearchBox::choose);
}

void SearchBox::showPopup() {
    if (!popup_) makePopup();
    words_->clear();
    search({});
    list_->setMinimumWidth(list_->sizeHintForColumn(0) + list_->verticalScrollBar()->sizeHint().width() +
                           2 * list_->frameWidth());
    const QRect room = screen()->availableGeometry();
    const QSize size =
        QSize(std::max(width(), popup_->minimumSizeHint().width()), kHeightInLines * fontMetrics().height())
            .boundedTo(room.size());
    const QPoint below = mapToGlobal(QPoint(0, height()));
    popup_->setGeometry(std::clamp(below.x(), room.left(), room.right() - size.width() + 1),
                        std::clamp(below.y(), room.top(), room.bottom() - size.height() + 1), size.width(),
                        size.height());
    popup_->show();
    words_->setFocus(Qt::PopupFocusReason);
    list_->scrollToItem(list_->currentItem(), QAbstractItemView::PositionAtCenter);
}

void SearchBox::hidePopup() {
    if (popup_) popup_->hide();
    QComboBox::hidePopup();
}

void SearchBox::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton) return showPopup(); // Qt would wait for its own list to close
    QComboBox::mousePressEvent(event);
}

void SearchBox::keyPressEvent(QKeyEvent* event) {
    const QString text = event->text();
    const bool isPlain = (event->modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier)) == Qt::NoModifier;
    if (!isPlain || text.isEmpty() || !text.front().isLetterOrNumber()) return QComboBox::keyPressEvent(event);
    showPopup();
    words_->setText(text);
}

void SearchBox::search(const QString& typed) {
    const QStringList wanted = wantedWords(typed);
    QFont bold = list_->font();
    bold.setBold(true);
    list_->clear();
    QListWidgetItem* chosen = nullptr; // the best match; without words, what the box holds
    int title = -1, bestRank = 0;      // title: of the entry
    bool isTitled = false;             // the title is in the list
    for (int at = 0; at < count(); ++at) {
        const QString text = itemText(at);
        if (!model()->flags(model()->index(at, modelColumn())).testFlag(Qt::ItemIsEnabled)) {
            title = at;
            isTitled = false;
            continue;
        }
        const QString name = text + ' ' + itemText(title),
                      sentence = itemData(at, Qt::AccessibleDescriptionRole).toString();
        if (!std::ranges::all_of(wanted, [&](const QString& word) {
                return name.contains(word, Qt::CaseInsensitive) || hasWord(sentence, word);
            }))
            continue;
        if (title >= 0 && !isTitled) {
            auto* head = new QListWidgetItem(itemText(title), list_);
            head->setFlags(Qt::NoItemFlags);
            head->setFont(bold);
            isTitled = true;
        }
        auto* item = new QListWidgetItem(text, list_);
        item->setData(kEntry, at);
        item->setData(Qt::AccessibleDescriptionRole, sentence);
        const int rank = wanted.isEmpty() ? at != currentIndex() : rankOfTitle(text, wanted.join(' '));
        if (chosen && rank >= bestRank) continue;
        chosen = item;
        bestRank = rank;
    }
    if (chosen) return list_->setCurrentItem(chosen);
    auto* nothing = new QListWidgetItem(tr("Nothing found for “%1”. Try another word.").arg(typed.trimmed()), list_);
    nothing->setFlags(Qt::NoItemFlags);
}

void SearchBox::choose(const QListWidgetItem* item) {
    if (!item || !item->flags().testFlag(Qt::ItemIsEnabled)) return;
    const int at = item->data(kEntry).toInt();
    hidePopup();
    setCurrentIndex(at);
    emit activated(at);
}

} // namespace attn
