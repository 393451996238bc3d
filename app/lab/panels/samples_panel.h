#pragma once

#include "app/lab/workbench/panel.h"
#include "engine/session/training_session.h"

class QLabel;
class QTreeView;

namespace attn {

class EmptyState;
class PredictionsView;
class SampleModel;

/// Shows the answers of the model in training to questions that it has never seen.
class SamplesPanel : public Panel {
    Q_OBJECT

public:
    explicit SamplesPanel(Workbench& bench, QWidget* parent = nullptr);

    ExportNumbers numbers() const override;

private:
    void refresh();
    /// Sets the prompt to the question.
    void showQuestion(const QModelIndex& index);
    /// Gives a picture to the vision model.
    void showPicture(int row);
    bool hasPictures() const;
    QString hintText() const;

    AnswersAtStep answers_; ///< those that are shown

    SampleModel* model_;
    QTreeView* table_;
    PredictionsView* predictions_;
    QLabel* hint_;
    EmptyState* empty_;
};

} // namespace attn
