#pragma once

#include "engine/session/training_session.h"

#include <QAbstractListModel>

#include <memory>

namespace attn {

/// Pictures of the validation split with what a model takes them for. A wrong one is told by its frame and by a mark in
/// its text.
class SightModel : public QAbstractListModel {
    Q_OBJECT

public:
    static constexpr int kSide = 64; ///< of a picture, in pixels of the screen

    using QAbstractListModel::QAbstractListModel;
    void setSights(std::shared_ptr<const TrainingSights> sights);
    int rightCount() const;
    bool isRight(int row) const;
    QString labelOf(int row) const; ///< what it is
    QString givenOf(int row) const; ///< what it is taken for

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;

private:
    std::shared_ptr<const TrainingSights> sights_;
};

} // namespace attn
