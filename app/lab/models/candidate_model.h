#pragma once

#include "engine/session/sampling.h"
#include "engine/session/snapshot.h"

#include <QAbstractTableModel>

#include <memory>
#include <vector>

namespace attn {

/// The likeliest next tokens under a sampling, ranked from the logits of a snapshot; the model never runs for this.
class CandidateModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { TokenColumn, ProbabilityColumn, LogitColumn, ColumnCount };
    enum Role { TokenRole = Qt::UserRole, ProbabilityRole };
    static constexpr int kLimit = 20;

    using QAbstractTableModel::QAbstractTableModel;

    void rank(const Snapshot& snapshot, const Sampling& sampling);
    const Candidate& candidate(int row) const { return rows_[static_cast<size_t>(row)].candidate; }
    const QString& text(int row) const { return rows_[static_cast<size_t>(row)].text; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    struct Row {
        Candidate candidate;
        QString text;
    };
    std::vector<Row> rows_;
};

} // namespace attn
