#pragma once

#include <QDialog>

class QAction;
class QLineEdit;
class QMenuBar;
class QTreeWidget;
class QTreeWidgetItem;

namespace attn {

/// A searchable list of all menu actions with their keys, grouped by menu.
class ShortcutSheet : public QDialog {
    Q_OBJECT

public:
    ShortcutSheet(const QMenuBar& menuBar, QWidget* parent);

private:
    QTreeWidgetItem* addGroup(const QString& title);
    void filter(const QString& text);

    QLineEdit* search_;
    QTreeWidget* list_;
};

} // namespace attn
