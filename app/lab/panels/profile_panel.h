#pragma once

#include "app/lab/workbench/panel.h"

class QLabel;
class QSplitter;
class QTreeWidget;
class QTreeWidgetItem;

namespace attn {

class LinesView;

/// Summarises the selected head: attention received by each key, attention by distance, and the largest weights.
class ProfilePanel : public Panel {
    Q_OBJECT

public:
    explicit ProfilePanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    ExportNumbers numbers() const override;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void showIfNew();
    void showProfile();
    void showTitle(); ///< includes the value under the pointer
    /// Values to draw for a part of the profile: changed minus original if both are there, else the values themselves.
    std::vector<float> lessBefore(std::vector<float> values, std::vector<float> HeadProfile::*part) const;
    QString tokenText(int token) const; ///< "12 “the”"

    Workbench& bench_;
    std::shared_ptr<const Snapshot> snapshot_;
    std::shared_ptr<const HeadProfile> shown_, before_; ///< before_: of the original run; null: not compared
    uint64_t shownVersion_ = 0;                         ///< Snapshot::sequenceVersion of shown_
    QLabel* title_;
    QSplitter* split_;
    LinesView *received_, *distances_;
    QTreeWidget* largest_;
};

} // namespace attn
