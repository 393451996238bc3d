#pragma once

#include <QDialog>
#include <QString>

#include <functional>
#include <vector>

class QLineEdit;
class QListWidget;

namespace attn {

/// Finds an action, a control, a panel, a part, a lesson or a model by words of its name or help, and opens it. Also
/// explains terms. The arrow keys choose while the user types; Return opens.
class Finder : public QDialog {
    Q_OBJECT

public:
    struct Entry {
        QString title;
        QString kind;               ///< translated, such as "Lesson"
        QString keys;               ///< of an action; empty: none
        std::function<void()> open; ///< empty: there is nothing to open
        QString help;               ///< one or two sentences; empty: none
        bool explains = false;      ///< shows the help below the name, even if only the name matched
    };

    Finder(std::vector<Entry> entries, QWidget* parent);

    /// The terms of the subject, each with a sentence that explains it.
    static std::vector<Entry> words();
    /// Adds the controls of a panel, unless an entry that opens has the same name. Opening one shows the panel first.
    static void addControls(std::vector<Entry>& entries, const QWidget& panel, const QString& title,
                            const std::function<void()>& show);

private:
    void find(const QString& words);
    void choose(int row);

    std::vector<Entry> entries_;
    std::vector<size_t> found_; ///< index of the entry in each row
    QLineEdit* words_;
    QListWidget* list_;
};

} // namespace attn
