#pragma once

#include "app/lab/workbench/panel.h"

class QPushButton;

namespace attn {

class FrontWatch;
class HeadTable;

/// Names every head by where it looks: in repeated random tokens and in a short text.
class HeadKindsPanel : public Panel {
    Q_OBJECT

public:
    explicit HeadKindsPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    ExportNumbers numbers() const override;

private:
    void detect();
    void detectIfNew();
    bool isKnown() const; ///< there is a detection

    Workbench& bench_;
    std::shared_ptr<const Snapshot> snapshot_;
    std::shared_ptr<const ModelInfo> asked_; ///< the model whose heads were last named automatically
    FrontWatch* front_ = nullptr;
    QPushButton* detect_;
    HeadTable* heads_;
};

} // namespace attn
