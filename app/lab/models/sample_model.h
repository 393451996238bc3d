#pragma once

#include "engine/session/training_session.h"

#include <QAbstractTableModel>

#include <memory>
#include <optional>
#include <vector>

namespace attn {

/// Questions from the validation split, with the right answers and the model's answers.
class SampleModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { PromptColumn, ExpectedColumn, GivenColumn, ColumnCount };
    /// Roles of the model's answer. WrongRole is a list of booleans: which tokens are wrong.
    static constexpr int WrongRole = Qt::UserRole, TokensRole = Qt::UserRole + 1;

    using QAbstractTableModel::QAbstractTableModel;
    void setSamples(std::shared_ptr<const std::vector<SampleAnswer>> samples);
    int rightCount() const;
    std::optional<double> meanError() const; ///< of answers that are numbers; else none

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::shared_ptr<const std::vector<SampleAnswer>> samples_;
};

} // namespace attn
