#pragma once

#include "app/figures/figure_theme.h"
#include "app/figures/matrix_figure.h"
#include "engine/session/training_session.h"

#include <QWidget>

#include <memory>

class QListView;
class QSplitter;

namespace attn {

class MatrixView;
class ImagePredictionModel;

/// Shows pictures with the predictions of a model in training, and its confusion matrix.
class PredictionsView : public QWidget {
    Q_OBJECT

public:
    explicit PredictionsView(QWidget* parent = nullptr);

    void setPredictions(const std::shared_ptr<const ImagePredictions>& predictions);
    void setTheme(const FigureTheme& theme);
    const ImagePredictionModel& model() const { return *model_; }
    const MatrixFigure& confusion() const;

protected:
    void resizeEvent(QResizeEvent* event) override;

signals:
    /// The user clicked a picture. @param row of model()
    void chosen(int row);

private:
    ImagePredictionModel* model_;
    QListView* list_;
    MatrixView* confusion_;
    QSplitter* splitter_;
};

/// @return the confusion matrix: rows are true classes, columns are predicted classes, and each row sums to 1
MatrixFigure confusionFigure(const ImagePredictions& predictions);

} // namespace attn
