#pragma once

#include "app/lab/panels/panel_context.h"

class QLabel;
class QTreeView;

namespace attn {

class SampleModel;

/// What the model that trains answers to questions it has never seen.
class SamplesPanel : public Panel {
    Q_OBJECT

public:
    explicit SamplesPanel(PanelContext& context, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override { Q_UNUSED(snapshot) }
    QString csv() const override;

private:
    void refresh();
    /// Puts the question into the prompt of the views.
    void showQuestion(const QModelIndex& index);

    PanelContext& context_;
    SampleModel* model_;
    QTreeView* table_;
    QLabel* hint_;
};

} // namespace attn
