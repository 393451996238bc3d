#include "app/lab/models/branch_tree_model.h"

#include "app/figures/drawing.h"

#include <QFont>

#include <cmath>

namespace attn {

std::vector<BranchTreeModel::Chain> BranchTreeModel::collapse(const BranchTree& tree) const {
    std::vector<Chain> chains;
    struct Pending {
        int node, parentChain, row;
    };
    // An explicit stack, because recursion is too deep for a chain of thousands of tokens.
    std::vector<Pending> pending;
    const std::vector<std::vector<int>> children = tree.children();
    const auto& roots = children.front();
    for (size_t i = roots.size(); i-- > 0;) pending.push_back({roots[i], -1, static_cast<int>(i)});
    while (!pending.empty()) {
        const Pending start = pending.back();
        pending.pop_back();
        Chain chain{.first = start.node, .last = start.node, .parent = start.parentChain, .row = start.row};
        std::string text;
        double sum = 0;
        int count = 0;
        for (int node = start.node;; node = children[static_cast<size_t>(node)].front()) {
            const BranchNode& branch = tree.nodes[static_cast<size_t>(node)];
            text += branch.text;
            sum += static_cast<double>(branch.probability.value_or(0));
            count += branch.probability ? 1 : 0;
            chain.last = node;
            chain.holdsCurrent = chain.holdsCurrent || node == tree.current;
            if (children[static_cast<size_t>(node)].size() != 1) break;
        }
        chain.text = QString::fromStdString(text);
        if (count > 0) chain.meanProbability = sum / count;
        const int self = static_cast<int>(chains.size());
        if (start.parentChain >= 0) chains[static_cast<size_t>(start.parentChain)].children.push_back(self);
        chains.push_back(std::move(chain));
        const auto& forks = children[static_cast<size_t>(chains.back().last)];
        for (size_t i = forks.size(); i-- > 0;) pending.push_back({forks[i], self, static_cast<int>(i)});
    }
    return chains;
}

bool BranchTreeModel::hasSameShape(const std::vector<Chain>& chains) const {
    if (chains.size() != chains_.size()) return false;
    for (size_t i = 0; i < chains.size(); ++i)
        if (chains[i].first != chains_[i].first || chains[i].children != chains_[i].children) return false;
    return true;
}

void BranchTreeModel::setTree(std::shared_ptr<const BranchTree> tree) {
    std::vector<Chain> chains;
    if (tree && !tree->nodes.empty()) chains = collapse(*tree);
    // While text is generated only rows change; a reset would lose the view's scroll position and open rows.
    if (hasSameShape(chains)) {
        for (size_t i = 0; i < chains.size(); ++i) {
            if (chains[i] == chains_[i]) continue;
            chains_[i] = std::move(chains[i]);
            emit dataChanged(createIndex(chains_[i].row, 0, i), createIndex(chains_[i].row, ColumnCount - 1, i));
        }
        return;
    }
    beginResetModel();
    chains_ = std::move(chains);
    topLevel_.clear();
    for (size_t i = 0; i < chains_.size(); ++i)
        if (chains_[i].parent < 0) topLevel_.push_back(static_cast<int>(i));
    endResetModel();
}

QModelIndex BranchTreeModel::currentRow() const {
    for (size_t i = 0; i < chains_.size(); ++i)
        if (chains_[i].holdsCurrent) return createIndex(chains_[i].row, 0, i);
    return {};
}

const std::vector<int>& BranchTreeModel::childrenOf(const QModelIndex& parent) const {
    return parent.isValid() ? chains_[parent.internalId()].children : topLevel_;
}

QModelIndex BranchTreeModel::index(int row, int column, const QModelIndex& parent) const {
    const auto& siblings = childrenOf(parent);
    if (row < 0 || row >= static_cast<int>(siblings.size()) || column < 0 || column >= ColumnCount) return {};
    return createIndex(row, column, static_cast<quintptr>(siblings[static_cast<size_t>(row)]));
}

QModelIndex BranchTreeModel::parent(const QModelIndex& child) const {
    if (!child.isValid()) return {};
    const int parent = chains_[child.internalId()].parent;
    return parent < 0 ? QModelIndex()
                      : createIndex(chains_[static_cast<size_t>(parent)].row, 0, static_cast<quintptr>(parent));
}

int BranchTreeModel::rowCount(const QModelIndex& parent) const {
    return parent.column() > 0 ? 0 : static_cast<int>(childrenOf(parent).size());
}

int BranchTreeModel::columnCount(const QModelIndex&) const { return ColumnCount; }

QVariant BranchTreeModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const Chain& chain = chains_[index.internalId()];
    if (role == NodeRole) return chain.last;
    if (role == Qt::FontRole && chain.holdsCurrent) {
        QFont font;
        font.setBold(true);
        return font;
    }
    if (role == Qt::ToolTipRole) return tr("%1\nClick to continue from the end of this text.").arg(chain.text);
    if (role != Qt::DisplayRole) return {};
    if (index.column() == ProbabilityColumn)
        return chain.meanProbability ? formatPercent(*chain.meanProbability, 0) : QStringLiteral("–");
    return chain.text.simplified();
}

QVariant BranchTreeModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || (role != Qt::DisplayRole && role != Qt::ToolTipRole)) return {};
    const bool isHelp = role == Qt::ToolTipRole;
    if (section == TextColumn)
        return isHelp ? tr("A stretch of text. The first row is the prompt; each row below continues the one above it")
                      : tr("Text");
    return isHelp ? tr("Mean probability that the model gave to the tokens that it wrote. A dash: it wrote none of "
                       "them, or their probabilities were not saved.")
                  : tr("Mean probability");
}

} // namespace attn
