#pragma once

#include "app/lab/workbench/panel.h"

class QLabel;
class QPushButton;

namespace attn {

class FrontWatch;
class HeadTable;
struct HeadDetection;

/// Names every head by where it looks: in repeated random tokens and in a short text, or in the picture.
class HeadKindsPanel : public Panel {
    Q_OBJECT

public:
    explicit HeadKindsPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    ExportNumbers numbers() const override;

private:
    void detect();
    void detectIfNew();
    std::shared_ptr<const HeadDetection> found() const; ///< null: none
    bool isCurrent() const;                             ///< the detection is of this model, and of this picture

    std::shared_ptr<const Snapshot> snapshot_;
    std::shared_ptr<const ModelInfo> asked_; ///< the model whose heads were last named automatically
    uint64_t askedVersion_ = 0;              ///< of the input then
    FrontWatch* front_ = nullptr;
    QPushButton* detect_;
    QLabel* measured_; ///< on what
    QLabel* message_;  ///< that the heads are being measured, or why they are not
    HeadTable* heads_;
};

} // namespace attn
