#pragma once

#include "app/lab/panels/panel_context.h"
#include "engine/analysis/head_detectors.h"

class QComboBox;
class QLabel;
class QListWidget;
class QPushButton;

namespace attn {

class FrontWatch;

/// What kind of head each one is, by what it looks at on repeated random tokens and a short text; sorted, grouped, and
/// by likeness.
class HeadKindsPanel : public Panel {
    Q_OBJECT

public:
    explicit HeadKindsPanel(PanelContext& context, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;

private:
    void detect();
    void detectIfNew();
    void list();
    void explain();
    const HeadScores* beforeOf(const HeadScores& head) const; ///< null: it is held against nothing

    PanelContext& context_;
    std::shared_ptr<const Snapshot> snapshot_;
    std::shared_ptr<const HeadDetection> found_, before_; ///< before_: what it is held against, null: nothing
    std::shared_ptr<const ModelInfo> asked_;              ///< the model that was asked about by itself
    FrontWatch* front_ = nullptr;
    QComboBox* order_;
    QPushButton *detect_, *alike_;
    QListWidget* heads_;
    QLabel* explanation_;
    struct Likened {
        std::shared_ptr<const HeadDetection> in;
        int layer = 0, head = 0;
        QString model;
    };
    std::optional<Likened> likened_; ///< the head that others are sorted by likeness to; it may be another model's
};

} // namespace attn
