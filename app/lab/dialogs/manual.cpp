#include "app/lab/dialogs/manual.h"

#include "app/lab/common/fit_screen.h"
#include "app/lab/common/icons.h"
#include "app/lab/widgets/widget_makers.h"

#include <QAbstractTextDocumentLayout>
#include <QDesktopServices>
#include <QDialogButtonBox>
#include <QFile>
#include <QImage>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTextBlock>
#include <QTextBrowser>
#include <QUrl>

#include <algorithm>

namespace attn {
namespace {

/// Documents of docs/ in the order in which a new user needs them.
constexpr const char* kPages[] = {"tour",     "for-teachers",     "attention",       "mechanisms",  "training",
                                  "glossary", "how-a-model-runs", "troubleshooting", "measurements"};
enum PageRole { AddressRole = Qt::UserRole, TextRole };

QString textOf(const QString& address) {
    QFile file(':' + QUrl(address).path());
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

/// "in-front-of-the-class" for "In front of the class", as links name a heading.
QString anchorOf(const QString& heading) {
    QString anchor;
    for (const QChar letter : heading.toLower()) {
        if (letter.isLetterOrNumber() || letter == '-') anchor += letter;
        if (letter == ' ') anchor += '-';
    }
    return anchor;
}

} // namespace

/// A page whose pictures are at most as wide as it is.
class ManualPage : public QTextBrowser {
public:
    using QTextBrowser::QTextBrowser;
    void scrollTo(const QString& anchor) {
        for (QTextBlock block = document()->begin(); block.isValid(); block = block.next())
            if (block.blockFormat().headingLevel() > 0 && anchorOf(block.text()) == anchor)
                return verticalScrollBar()->setValue(
                    qRound(document()->documentLayout()->blockBoundingRect(block).top()));
    }

protected:
    QVariant loadResource(int type, const QUrl& name) override {
        if (type != QTextDocument::ImageResource) return QTextBrowser::loadResource(type, name);
        const QImage image(':' + source().resolved(name).path());
        const int room = std::max(200, viewport()->width() - 4 * spacing::kWide);
        return image.width() > room ? image.scaledToWidth(room, Qt::SmoothTransformation) : image;
    }
};

Manual::Manual(QWidget* parent)
    : QDialog(parent), search_(new QLineEdit), pages_(new QListWidget),
      none_(makeHintLabel("manualNone", tr("No page has these words. Try another one, or a shorter one."))),
      text_(new ManualPage) {
    setWindowTitle(tr("Manual"));
    setObjectName("manual");
    spoken(search_, "manualSearch", tr("Search the manual"));
    search_->setPlaceholderText(tr("Search the manual"));
    search_->setClearButtonEnabled(true);
    search_->addAction(themedIcon("search"), QLineEdit::LeadingPosition);
    spoken(pages_, "manualPages", tr("Pages of the manual"));
    spoken(text_, "manualText", tr("Page of the manual"));
    text_->setOpenLinks(false);
    text_->document()->setDocumentMargin(spacing::kWide);
    for (const char* page : kPages) {
        const QString address = QStringLiteral("qrc:/manual/docs/%1.md").arg(QLatin1String(page));
        const QString text = textOf(address);
        auto* item = new QListWidgetItem(text.section('\n', 0, 0).mid(2), pages_); // after "# "
        item->setData(AddressRole, address);
        item->setData(TextRole, text);
    }
    connect(pages_, &QListWidget::currentRowChanged, this, &Manual::turnTo);
    connect(text_, &QTextBrowser::sourceChanged, this, [this](const QUrl& source) { // also back, by Alt+Left
        const QSignalBlocker quiet(pages_);
        for (int page = 0; page < pages_->count(); ++page)
            if (pages_->item(page)->data(AddressRole).toUrl() == source) pages_->setCurrentRow(page);
    });
    connect(text_, &QTextBrowser::anchorClicked, this, &Manual::follow);
    connect(search_, &QLineEdit::textChanged, this, &Manual::search);
    connect(search_, &QLineEdit::returnPressed, this, &Manual::findNext);
    auto* side = new QWidget;
    makeColumn(side, 0, {search_, none_, {pages_, 1}});
    auto* split = new QSplitter;
    split->addWidget(side);
    split->addWidget(text_);
    split->setChildrenCollapsible(false);
    split->setStretchFactor(1, 1);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    for (QAbstractButton* button : buttons->buttons())
        static_cast<QPushButton*>(button)->setAutoDefault(false); // Return looks for the next place
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    makeColumn(this, spacing::kWide, {{split, 1}, buttons});
    resize(fontMetrics().averageCharWidth() * 150, fontMetrics().height() * 45);
    fitScreen(*this);
    none_->hide();
    pages_->setCurrentRow(0);
}

void Manual::turnTo(int page) {
    if (page < 0) return;
    text_->setSource(QUrl(pages_->item(page)->data(AddressRole).toString()));
    if (!search_->text().isEmpty()) text_->find(search_->text());
}

void Manual::follow(const QUrl& link) {
    if (link.scheme() == QLatin1String("https")) {
        QDesktopServices::openUrl(link);
        return;
    }
    QUrl target = text_->source().resolved(link);
    const QString anchor = target.fragment();
    target.setFragment({});
    for (int page = 0; page < pages_->count(); ++page)
        if (pages_->item(page)->data(AddressRole).toUrl() == target) {
            pages_->setCurrentRow(page);
            if (!anchor.isEmpty()) text_->scrollTo(anchor);
        }
}

void Manual::search(const QString& text) {
    int first = -1;
    for (int page = 0; page < pages_->count(); ++page) {
        QListWidgetItem* item = pages_->item(page);
        const bool isFound = item->data(TextRole).toString().contains(text, Qt::CaseInsensitive);
        item->setHidden(!isFound);
        if (isFound && first < 0) first = page;
    }
    none_->setVisible(first < 0);
    if (first < 0) return;
    const QListWidgetItem* current = pages_->currentItem();
    if (!current || current->isHidden()) return pages_->setCurrentRow(first);
    text_->moveCursor(QTextCursor::Start);
    if (!text.isEmpty()) text_->find(text);
}

void Manual::findNext() {
    if (search_->text().isEmpty() || text_->find(search_->text())) return;
    for (int step = 1; step <= pages_->count(); ++step) {
        const int page = (pages_->currentRow() + step) % pages_->count();
        if (pages_->item(page)->isHidden()) continue;
        if (page != pages_->currentRow()) return pages_->setCurrentRow(page);
        text_->moveCursor(QTextCursor::Start);
        text_->find(search_->text());
        return;
    }
}

} // namespace attn
