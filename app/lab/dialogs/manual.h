#pragma once

#include <QDialog>
#include <QStringList>

class QLabel;
class QLineEdit;
class QListWidget;
class QUrl;

namespace attn {

class ManualPage;

/// The documents for users, with their pictures, as they come with the program: a list of pages that a search narrows,
/// and the page.
class Manual : public QDialog {
    Q_OBJECT

public:
    explicit Manual(QWidget* parent);

private:
    void turnTo(int page);
    void follow(const QUrl& link); ///< of a page; links to files that are not in the manual do nothing
    void search(const QString& text);
    void findNext(); ///< on this page, then on the next one that has the text

    QLineEdit* search_;
    QListWidget* pages_;
    QLabel* none_; ///< that no page has the text
    ManualPage* text_;
};

} // namespace attn
