#pragma once

#include <QDialog>
#include <QString>

#include <functional>
#include <vector>

class QLineEdit;
class QListWidget;

namespace attn {

/// Finds an action, a control, a panel, a part, a lesson or a model by words of its name or its help, and opens it;
/// says what a word means. The arrow keys choose while the words are typed; Return opens.
class Finder : public QDialog {
    Q_OBJECT

public:
    struct Entry {
        QString title;
        QString kind;               ///< translated, such as "Lesson"
        QString keys;               ///< of an action; empty: none
        std::function<void()> open; ///< empty: there is nothing to open
        QString help;               ///< one or two sentences; empty: none
        bool explains = false;      ///< the help stands below the name, not only where its words were sought
    };

    Finder(std::vector<Entry> entries, QWidget* parent);

    /// The words of the subject, each with a sentence that says what it means.
    static std::vector<Entry> words();
    /// Adds what can be set or pressed in a panel, unless an entry that opens has its name. To open one shows the panel
    /// first.
    static void addControls(std::vector<Entry>& entries, const QWidget& panel, const QString& title,
                            const std::function<void()>& show);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void find(const QString& words);
    void choose(int row);

    std::vector<Entry> entries_;
    std::vector<size_t> found_; ///< index of the entry in each row
    QLineEdit* words_;
    QListWidget* list_;
};

} // namespace attn
