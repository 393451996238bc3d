#pragma once

#include "engine/session/training_session.h"

#include <QAbstractListModel>

#include <memory>
#include <optional>

namespace attn {

/// Pictures from the validation split with the model's predictions. A frame and a mark in the text show the wrong ones.
class ImagePredictionModel : public QAbstractListModel {
    Q_OBJECT

public:
    static constexpr int kSide = 64; ///< side of a picture in screen pixels

    using QAbstractListModel::QAbstractListModel;
    void setPredictions(std::shared_ptr<const ImagePredictions> predictions);
    int rightCount() const;
    std::optional<double> meanError() const; ///< of answers that are numbers; else none
    bool isRight(int row) const;             ///< numbers are not wrong
    QString labelOf(int row) const;          ///< the right class
    QString givenOf(int row) const;          ///< the predicted class

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;

private:
    std::shared_ptr<const ImagePredictions> predictions_;
};

} // namespace attn
