#pragma once

#include "app/lab/workbench/panel_context.h"
#include "engine/inference/sampling.h"

class QTreeView;

namespace attn {

class CandidateModel;
class ParamControls;

/// Shows the sampling controls and the ranked next tokens, recomputed from the current logits. A click on a token
/// appends it to the text.
class NextTokenPanel : public Panel {
    Q_OBJECT

public:
    explicit NextTokenPanel(PanelContext& context, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    ExportNumbers numbers() const override;

    const Sampling& sampling() const { return sampling_; }
    void setSampling(const Sampling& sampling);

signals:
    void samplingChanged();

private:
    void change(const QString& id, double value);
    void take(const QModelIndex& index);
    void rank();

    PanelContext& context_;
    std::shared_ptr<const Snapshot> snapshot_;
    Sampling sampling_;
    ParamControls* controls_;
    CandidateModel* candidates_;
    QTreeView* list_;
};

} // namespace attn
