#include "app/lab/models/image_prediction_model.h"

#include "app/figures/read_image.h"
#include "app/figures/token_label.h"

#include <QPainter>
#include <QPixmap>

namespace attn {
namespace {

const QColor kRight(46, 125, 50), kWrong(198, 40, 40);

} // namespace

void ImagePredictionModel::setPredictions(std::shared_ptr<const ImagePredictions> predictions) {
    if (predictions == predictions_) return;
    beginResetModel();
    predictions_ = std::move(predictions);
    endResetModel();
}

int ImagePredictionModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !predictions_ ? 0 : static_cast<int>(predictions_->examples.size());
}

bool ImagePredictionModel::isRight(int row) const {
    const ImagePrediction& prediction = predictions_->examples[static_cast<size_t>(row)];
    return prediction.error || prediction.isRight();
}

std::optional<double> ImagePredictionModel::meanError() const {
    return predictions_ ? meanErrorOf(predictions_->examples) : std::nullopt;
}

int ImagePredictionModel::rightCount() const {
    int count = 0;
    for (int row = 0; row < rowCount(); ++row) count += isRight(row) ? 1 : 0;
    return count;
}

QString ImagePredictionModel::labelOf(int row) const {
    return shownText(predictions_->examples[static_cast<size_t>(row)].right);
}

QString ImagePredictionModel::givenOf(int row) const {
    return shownText(predictions_->examples[static_cast<size_t>(row)].given);
}

QVariant ImagePredictionModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) return {};
    const int row = index.row();
    const ImagePrediction& prediction = predictions_->examples[static_cast<size_t>(row)];
    switch (role) {
    case Qt::DisplayRole:
        return isRight(row) ? givenOf(row) : tr("✗ %1").arg(givenOf(row));
    case Qt::ToolTipRole:
    case Qt::AccessibleTextRole: {
        if (!prediction.probability)
            return (isRight(row) && !prediction.error ? tr("%1, predicted correctly") : tr("%1, predicted as %2"))
                .replace("%1", labelOf(row))
                .replace("%2", givenOf(row));
        return (isRight(row) ? tr("%1, predicted correctly (%3 %)") : tr("%1, predicted as %2 (%3 %)"))
            .replace("%1", labelOf(row))
            .replace("%2", givenOf(row))
            .replace("%3", QString::number(*prediction.probability * 100, 'f', 0));
    }
    case Qt::DecorationRole: {
        constexpr int kFrame = 3;
        QPixmap pixmap(kSide, kSide);
        QPainter painter(&pixmap);
        painter.fillRect(pixmap.rect(), isRight(row) ? kRight : kWrong);
        painter.drawImage(pixmap.rect().adjusted(kFrame, kFrame, -kFrame, -kFrame),
                          toQImage(prediction.example.picture));
        return pixmap;
    }
    default:
        return {};
    }
}

} // namespace attn
