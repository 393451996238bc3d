#pragma once

#include "app/lab/workbench/panel.h"

class QLabel;
class QTreeView;

namespace attn {

class CandidateModel;
class EmptyState;
class ParamControls;

/// Shows the sampling controls and the ranked next tokens, recomputed from the current logits. A click on a token
/// appends it to the text, or puts it in place of the hidden word. After the end of a text it says so first.
class NextTokenPanel : public Panel {
    Q_OBJECT

public:
    explicit NextTokenPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QString titleNow() const override;
    ExportNumbers numbers() const override;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void change(const QString& id, double value);
    void take(const QModelIndex& index);
    void showRemoved();
    void showEnd();
    void rank();
    bool saysNumbers() const; ///< of a regression, in place of probabilities
    void showSampling();

    std::shared_ptr<const Snapshot> snapshot_;
    ParamControls* controls_;
    QWidget* sampling_; ///< holds the controls, which locks may hide
    CandidateModel* candidates_;
    QTreeView* list_;
    QWidget* listed_;            ///< holds the list, which locks may hide
    EmptyState* ended_;          ///< in place of the list after the end of a text
    EmptyState* nothing_;        ///< in place of the list without a text
    int goesOnAfter_ = -1;       ///< node of the end after which the list is shown all the same; -1: none
    QLabel* hint_;               ///< while no word is hidden
    QLabel* removed_;            ///< which heads are removed
    QLabel* order_;              ///< in which the sampling controls act
    bool isSecondClick_ = false; ///< the second half of a double click has begun
};

} // namespace attn
