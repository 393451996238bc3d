#pragma once

#include "engine/inference/sequence.h"

#include <QAbstractItemModel>

#include <memory>
#include <optional>
#include <vector>

namespace attn {

/// The tree of all continuations tried since the prompt was set. A sequence of tokens without a fork is one row of
/// text, and a fork opens child rows. The row with the current token is bold.
class BranchTreeModel : public QAbstractItemModel {
    Q_OBJECT

public:
    enum Column { TextColumn, ProbabilityColumn, ColumnCount };
    enum Role { NodeRole = Qt::UserRole };

    using QAbstractItemModel::QAbstractItemModel;

    void setTree(std::shared_ptr<const BranchTree> tree);
    /// The row that holds the tree's current node, or an invalid index.
    QModelIndex currentRow() const;

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& child) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    /// A sequence of nodes without a fork.
    struct Chain {
        int first = 0, last = 0;               ///< node indices; clicking the row goes to `last`
        int parent = -1;                       ///< chain index
        int row = 0;                           ///< among its siblings
        std::optional<double> meanProbability; ///< of the tokens that the model wrote; none if it wrote none
        QString text;
        std::vector<int> children;
        bool holdsCurrent = false;
        bool operator==(const Chain&) const = default;
    };

    std::vector<Chain> collapse(const BranchTree& tree) const;
    bool hasSameShape(const std::vector<Chain>& chains) const;
    const std::vector<int>& childrenOf(const QModelIndex& parent) const;

    std::vector<Chain> chains_;
    std::vector<int> topLevel_;
};

} // namespace attn
