#pragma once

#include "app/lab/workbench/panel.h"
#include "engine/analysis/head_detectors.h"

class QComboBox;
class QLabel;
class QListWidget;
class QPushButton;

namespace attn {

class FrontWatch;

/// Labels every head by where it looks in repeated random tokens and in a short text. Sorts the heads by kind, layer,
/// score or similarity, or groups them by similar pattern.
class HeadKindsPanel : public Panel {
    Q_OBJECT

public:
    explicit HeadKindsPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    ExportNumbers numbers() const override;

private:
    void detect();
    void detectIfNew();
    void list();
    void explain();
    const HeadScores* beforeOf(const HeadScores& head) const; ///< the same head in the original run; null: not compared

    Workbench& bench_;
    std::shared_ptr<const Snapshot> snapshot_;
    std::shared_ptr<const HeadDetection> found_, before_; ///< before_: of the original run; null: not compared
    std::shared_ptr<const ModelInfo> asked_;              ///< the model whose heads were last labelled automatically
    FrontWatch* front_ = nullptr;
    QComboBox* order_;
    QPushButton *detect_, *alike_;
    QListWidget* heads_;
    QLabel* explanation_;
    struct ReferenceHead {
        std::shared_ptr<const HeadDetection> in;
        int site = 0, head = 0;
        QString model;
    };
    std::optional<ReferenceHead>
        reference_; ///< the heads are sorted by similarity to this head; it may be of another model
};

} // namespace attn
