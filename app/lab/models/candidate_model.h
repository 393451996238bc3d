#pragma once

#include "engine/inference/sampling.h"
#include "engine/session/snapshot.h"

#include <QAbstractTableModel>

#include <memory>
#include <vector>

namespace attn {

/// The most probable next tokens under a sampling, ranked from a snapshot's logits without running the model.
class CandidateModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { TokenColumn, ProbabilityColumn, LogitColumn, ChangeColumn, ColumnCount };
    enum Role { TokenRole = Qt::UserRole, ProbabilityRole };
    static constexpr int kLimit = 20;

    using QAbstractTableModel::QAbstractTableModel;

    /// @param before logits of the original run; the last column shows the change of probability. May be null.
    void rank(const Snapshot& snapshot, const Sampling& sampling, const NextToken* before = nullptr);
    bool showsChange() const { return showsChange_; }
    float change(int row) const { return rows_[static_cast<size_t>(row)].change; }
    const Candidate& candidate(int row) const { return rows_[static_cast<size_t>(row)].candidate; }
    const QString& text(int row) const { return rows_[static_cast<size_t>(row)].text; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    struct Row {
        Candidate candidate;
        QString text, percent, logit;
        float change = 0; ///< of the probability
    };
    std::vector<Row> rows_;
    bool isFilling_ = false; ///< the candidates are for a hidden word
    bool showsChange_ = false;
};

} // namespace attn
