#pragma once

#include "app/lab/workbench/workbench.h"

#include <QWidget>

#include <memory>

class QLabel;
class QPushButton;
class QSpinBox;

namespace attn {

/// The lines below a text: why it ended, what to know of it, and what the model's folder says of how to write. The
/// number of tokens starts as the folder says; where the controls differ from the folder, their names stand here.
class WritingNotes : public QWidget {
    Q_OBJECT

public:
    static constexpr int kMostAmount = 100'000; ///< tokens of a run

    /// @param amount the number of tokens that Run generates
    WritingNotes(Workbench& bench, QSpinBox& amount);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot);

private:
    bool limitsAmount() const; ///< whether the folder says how many tokens
    int usualAmount() const;   ///< of tokens: the folder's, or else the program's
    /// The titles of the controls that differ from the folder.
    QStringList differing() const;
    QString aboutFolder(const QStringList& differing) const; ///< empty: it says nothing
    QString aboutText() const;
    void show();
    void useFolder();

    Workbench& bench_;
    QSpinBox& amount_;
    std::shared_ptr<const Snapshot> snapshot_;
    int usualAmount_ = 0;
    QLabel *ended_, *notice_;
    QWidget* own_; ///< holds the button, which locks may hide
    QPushButton* useOwn_;
};

} // namespace attn
