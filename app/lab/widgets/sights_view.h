#pragma once

#include "app/figures/figure_theme.h"
#include "app/figures/matrix_figure.h"
#include "engine/session/training_session.h"

#include <QWidget>

#include <memory>

class QListView;

namespace attn {

class MatrixView;
class SightModel;

/// What a model that trains takes pictures for: some of them, and how often each class is taken for each.
class SightsView : public QWidget {
    Q_OBJECT

public:
    explicit SightsView(QWidget* parent = nullptr);

    void setSights(const std::shared_ptr<const TrainingSights>& sights);
    void setTheme(const FigureTheme& theme);
    const SightModel& model() const { return *model_; }
    const MatrixFigure& confusion() const;

signals:
    /// A picture was clicked. @param row of the model
    void chosen(int row);

private:
    SightModel* model_;
    QListView* list_;
    MatrixView* confusion_;
};

/// Rows are classes, columns what they are taken for; the shares of a row sum to 1.
MatrixFigure confusionFigure(const TrainingSights& sights);

} // namespace attn
