#pragma once

#include "engine/inference/sampling.h"
#include "engine/session/snapshot.h"

#include <QAbstractTableModel>

#include <memory>
#include <vector>

namespace attn {

/// The most probable next tokens under a sampling, ranked from a snapshot's logits without running the model. For a
/// classifier: the classes of the text, the class of each word, or the most probable answers.
class CandidateModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { TokenColumn, ProbabilityColumn, LogitColumn, ChangeColumn, ColumnCount };
    enum Role { TokenRole = Qt::UserRole, ProbabilityRole };
    static constexpr int kLimit = 20;

    using QAbstractTableModel::QAbstractTableModel;

    /// @param before logits of the original run, with which the last column shows the change of probability; may be
    /// null
    void rank(const Snapshot& snapshot, const Sampling& sampling, const NextToken* before = nullptr);
    /// Whether the rows are tokens of the vocabulary.
    bool listsTokens() const { return predictsTokens(readout_); }
    bool showsChange() const { return showsChange_; }
    /// How to read the percentages; None: they are numbers of a regression.
    ClassActivation activation() const { return activation_; }
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
        float change = 0;   ///< of the probability
        QString barred{};   ///< what bars it in the model's folder; empty: nothing
        QString unbarred{}; ///< its probability without that
    };
    Row rowOf(const Candidate& candidate, const QString& text, float change) const;
    /// Also sets showsChange_.
    std::vector<Row> tokenRows(const Snapshot& snapshot, const Sampling& sampling, const NextToken* earlier);
    /// Puts the barred tokens where they would stand without the rules of the model's folder.
    void showBarred(std::vector<Row>& rows, const Snapshot& snapshot, const Sampling& sampling) const;
    std::vector<Row> classRows(const Snapshot& snapshot, bool isCompared);

    std::vector<Row> rows_;
    TextReadout readout_ = TextReadout::NextToken; ///< the kind of the rows
    ClassActivation activation_ = ClassActivation::Softmax;
    bool showsChange_ = false;
};

} // namespace attn
