#pragma once

#include <QComboBox>

class QFrame;
class QLineEdit;
class QListWidget;
class QListWidgetItem;

namespace attn {

/// A combo box whose list is searched by typing. The words may stand in an entry, in the title above it, or in the
/// sentence about it (Qt::AccessibleDescriptionRole), which the list shows below the entry. Entries that cannot be
/// chosen are titles of those that follow.
class SearchBox : public QComboBox {
    Q_OBJECT

public:
    using QComboBox::QComboBox;

    /// The line and the list are named after the box: its name and "Words", its name and "List".
    void showPopup() override;
    void hidePopup() override;

protected:
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void makePopup();
    void search(const QString& typed);
    void choose(const QListWidgetItem* item);

    QFrame* popup_ = nullptr; ///< made when it is first shown
    QLineEdit* words_ = nullptr;
    QListWidget* list_ = nullptr;
};

} // namespace attn
