#pragma once

#include "app/lab/workbench/panel.h"
#include "app/lab/workbench/workbench.h"

class QDoubleSpinBox;
class QLabel;
class QPushButton;
class QScrollArea;
class QSpinBox;

namespace attn {

class EmptyState;
class PointedView;

/// Searches for the most probable text after the prompt and shows the tree of all texts that the search considered.
class BeamsPanel : public Panel {
    Q_OBJECT

public:
    explicit BeamsPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QWidget* figure() override;
    ExportNumbers numbers() const override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;

private:
    void search(int steps);
    void show();
    std::optional<int> current() const; ///< the node at which the text on screen ends

    std::shared_ptr<const Snapshot> snapshot_;
    size_t shownNodes_ = 0; ///< of the tree
    QSpinBox *width_, *most_;
    QDoubleSpinBox* penalty_;
    QPushButton *search_, *step_;
    QLabel* hint_;
    EmptyState* empty_;
    PointedView* tree_;
    QScrollArea* scroll_;
};

} // namespace attn
