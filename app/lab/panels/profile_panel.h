#pragma once

#include "app/lab/panels/panel_context.h"

class QLabel;
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
    void hideEvent(QHideEvent* event) override;

private:
    void ask();
    void showProfile();
    QString tokenText(int token) const; ///< "12 “the”"

    PanelContext& context_;
    std::shared_ptr<const Snapshot> snapshot_;
    std::shared_ptr<const HeadProfile> shown_;
    uint64_t shownVersion_ = 0; ///< of the sequence
    int layer_ = 0, head_ = 0;
    QLabel* title_;
    LinesView *received_, *distances_;
    QTreeWidget* largest_;
};

} // namespace attn
