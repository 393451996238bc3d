#pragma once

#include "app/lab/workbench/panel.h"

class QLabel;
class QPushButton;
class QSplitter;

namespace attn {

class FrontWatch;
class HeadMap;
class HeadTable;
struct HeadDetection;

/// Names every head by where it looks: in repeated random tokens and in a short text, or in the picture. A map of all
/// heads shows the score of a kind, or a measure of the present input.
class HeadKindsPanel : public Panel {
    Q_OBJECT

public:
    explicit HeadKindsPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    /// Of the map if it shows a measure, else of all kinds.
    ExportNumbers numbers() const override;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void detect();
    void detectIfNew();
    void measureIfNew(); ///< if the map shows a measure
    void show();
    std::shared_ptr<const HeadDetection> found() const; ///< null: none
    bool isCurrent() const;                             ///< the detection is of this model, and of this picture

    std::shared_ptr<const Snapshot> snapshot_;
    std::shared_ptr<const ModelInfo> asked_; ///< the model whose heads were last named automatically
    uint64_t askedVersion_ = 0;              ///< of the input then
    uint64_t measuredVersion_ = 0;           ///< of the input that was measured last, or is being measured
    FrontWatch* front_ = nullptr;
    QPushButton* detect_;
    QLabel* measured_; ///< on what
    QLabel* message_;  ///< that the heads are being measured, or why they are not
    QSplitter* split_;
    HeadMap* map_;
    HeadTable* heads_;
};

} // namespace attn
