#pragma once

#include "app/lab/panels/panel_context.h"

class QLabel;
class QSplitter;
class QTreeWidget;
class QTreeWidgetItem;

namespace attn {

class LinesView;

/// What the selected head does as a whole: who is looked at, how far it looks, and its largest weights.
class ProfilePanel : public Panel {
    Q_OBJECT

public:
    explicit ProfilePanel(PanelContext& context, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;

protected:
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void setInFront(bool isInFront);
    void ask();
    void showIfNew();
    void showProfile();
    void showTitle(); ///< with what is pointed at
    /// What is drawn of a part of the profile: it, or what it differs by.
    std::vector<float> lessBefore(std::vector<float> values, std::vector<float> HeadProfile::*part) const;
    QString tokenText(int token) const; ///< "12 “the”"

    PanelContext& context_;
    std::shared_ptr<const Snapshot> snapshot_;
    std::shared_ptr<const HeadProfile> shown_, before_; ///< before_: what it is held against, null: nothing
    uint64_t shownVersion_ = 0;                         ///< of the sequence
    int layer_ = 0, head_ = 0;
    bool isInFront_ = false; ///< a panel behind others is not hidden, but nobody sees it
    QLabel* title_;
    QSplitter* split_;
    LinesView *received_, *distances_;
    QTreeWidget* largest_;
};

} // namespace attn
