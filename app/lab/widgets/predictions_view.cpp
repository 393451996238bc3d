#include "app/lab/widgets/predictions_view.h"

#include "app/figures/token_label.h"
#include "app/lab/models/image_prediction_model.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/widget_makers.h"

#include <QCoreApplication>
#include <QListView>
#include <QScrollBar>
#include <QSplitter>

#include <numeric>

namespace attn {

MatrixFigure confusionFigure(const ImagePredictions& predictions) {
    const auto tr = [](const char* text) { return QCoreApplication::translate("attn::PredictionsView", text); };
    const size_t classes = predictions.labels.size();
    MatrixFigure figure;
    figure.title = tr("Predictions by class");
    figure.note = tr("%1 pictures; each row is a true class and sums to 1")
                      .arg(std::accumulate(predictions.confusion.begin(), predictions.confusion.end(), int64_t{0}));
    figure.rowTitle = tr("true class");
    figure.columnTitle = tr("predicted class");
    figure.kind = MatrixFigure::Kind::Weights;
    for (const std::string& label : predictions.labels) figure.rowLabels.push_back(shownText(label));
    figure.columnLabels = figure.rowLabels;
    std::vector<float> shares;
    for (size_t row = 0; row < classes; ++row) {
        const auto begin = predictions.confusion.begin() + static_cast<std::ptrdiff_t>(row * classes);
        const auto end = begin + static_cast<std::ptrdiff_t>(classes);
        const auto count = std::max<int64_t>(std::accumulate(begin, end, int64_t{0}), 1);
        for (auto cell = begin; cell != end; ++cell)
            shares.push_back(static_cast<float>(static_cast<double>(*cell) / static_cast<double>(count)));
    }
    figure.setMatrix(static_cast<int>(classes), static_cast<int>(classes), std::move(shares));
    return figure;
}

PredictionsView::PredictionsView(QWidget* parent)
    : QWidget(parent), model_(new ImagePredictionModel(this)), list_(new QListView), confusion_(new MatrixView),
      splitter_(new QSplitter(Qt::Vertical)) {
    setObjectName("sightsView");
    splitter_->setObjectName("sightsSplitter");
    splitter_->setChildrenCollapsible(false);
    list_->setObjectName("sights");
    list_->setAccessibleName(tr("Pictures and predictions"));
    list_->setModel(model_);
    list_->setViewMode(QListView::IconMode);
    list_->setIconSize({ImagePredictionModel::kSide, ImagePredictionModel::kSide});
    list_->setGridSize({ImagePredictionModel::kSide + 28, ImagePredictionModel::kSide + fontMetrics().height() + 12});
    list_->setResizeMode(QListView::Adjust);
    list_->setMovement(QListView::Static);
    list_->setUniformItemSizes(true);
    list_->setTextElideMode(Qt::ElideRight);
    list_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    confusion_->setObjectName("confusion");
    confusion_->setAccessibleName(tr("Confusion matrix"));
    splitter_->addWidget(list_);
    splitter_->addWidget(confusion_);
    splitter_->setStretchFactor(0, 3);
    splitter_->setStretchFactor(1, 2);
    makeColumn(this, 0, {splitter_});
    connect(list_, &QListView::clicked, this, [this](const QModelIndex& index) { emit chosen(index.row()); });
    connect(list_, &QListView::activated, this, [this](const QModelIndex& index) { emit chosen(index.row()); });
}

void PredictionsView::setPredictions(const std::shared_ptr<const ImagePredictions>& predictions) {
    const int scrolled = list_->verticalScrollBar()->value(), row = list_->currentIndex().row();
    model_->setPredictions(predictions);
    list_->setCurrentIndex(model_->index(row));
    list_->verticalScrollBar()->setValue(scrolled);
    const bool hasClasses = predictions && !predictions->confusion.empty(); // several labels and numbers have no matrix
    confusion_->setVisible(hasClasses);
    if (hasClasses) confusion_->setFigure(confusionFigure(*predictions));
}

void PredictionsView::setTheme(const FigureTheme& theme) { confusion_->setTheme(theme); }

/// Places the list and the matrix side by side if the view is wider than high.
void PredictionsView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const Qt::Orientation wanted = width() > height() ? Qt::Horizontal : Qt::Vertical;
    if (splitter_->orientation() != wanted) splitter_->setOrientation(wanted);
}

const MatrixFigure& PredictionsView::confusion() const { return confusion_->figure(); }

} // namespace attn
