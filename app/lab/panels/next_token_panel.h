#pragma once

#include "app/lab/panels/panel_context.h"
#include "engine/session/sampling.h"

class QTreeView;

namespace attn {

class CandidateModel;
class ParamControls;

/// What may come next: sampling controls and the ranked candidates under them, recomputed from the logits at hand.
/// Clicking a candidate takes it.
class NextTokenPanel : public Panel {
    Q_OBJECT

public:
    explicit NextTokenPanel(PanelContext& context, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;

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
