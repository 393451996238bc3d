#pragma once

#include "app/lab/workbench/panel_context.h"

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
    explicit ProfilePanel(PanelContext& context, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    ExportNumbers numbers() const override;

protected:
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void setInFront(bool isInFront);
    void ask();
    void showIfNew();
    void showProfile();
    void showTitle(); ///< includes the value under the pointer
    /// Values to draw for a part of the profile: changed minus original if both are there, else the values themselves.
    std::vector<float> lessBefore(std::vector<float> values, std::vector<float> HeadProfile::*part) const;
    QString tokenText(int token) const; ///< "12 “the”"

    PanelContext& context_;
    std::shared_ptr<const Snapshot> snapshot_;
    std::shared_ptr<const HeadProfile> shown_, before_; ///< before_: of the original run; null: not compared
    uint64_t shownVersion_ = 0;                         ///< Snapshot::sequenceVersion of shown_
    int layer_ = 0, head_ = 0;
    bool isInFront_ = false; ///< false behind other tabs, where Qt still calls the panel visible
    QLabel* title_;
    QSplitter* split_;
    LinesView *received_, *distances_;
    QTreeWidget* largest_;
};

} // namespace attn
