#pragma once

#include <QDialog>

class QAction;
class QLineEdit;
class QMenuBar;
class QTreeWidget;

namespace attn {

/// Every action of the menus with its keys, by menu, searchable.
class ShortcutSheet : public QDialog {
    Q_OBJECT

public:
    ShortcutSheet(const QMenuBar& menuBar, QWidget* parent);

private:
    void filter(const QString& text);

    QLineEdit* search_;
    QTreeWidget* list_;
};

} // namespace attn
