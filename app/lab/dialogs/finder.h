#pragma once

#include <QDialog>
#include <QString>

#include <functional>
#include <vector>

class QLineEdit;
class QListWidget;

namespace attn {

/// Finds an action, a panel, a part, a lesson or a model by words of its name, and opens it. The arrow keys choose
/// while the words are typed; Return opens.
class Finder : public QDialog {
    Q_OBJECT

public:
    struct Entry {
        QString title;
        QString kind; ///< translated, such as "Lesson"
        QString keys; ///< of an action; empty: none
        std::function<void()> open;
    };

    Finder(std::vector<Entry> entries, QWidget* parent);

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
