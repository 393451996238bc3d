#include "app/lab/models/parameter_tree_model.h"

#include "app/figures/drawing.h"
#include "app/figures/token_label.h"

#include <QStringList>

namespace attn {

int ParameterTreeModel::childNamed(int parent, const QString& name) {
    for (int child : items_[static_cast<size_t>(parent)].children)
        if (items_[static_cast<size_t>(child)].name == name) return child;
    const int child = static_cast<int>(items_.size());
    auto& siblings = items_[static_cast<size_t>(parent)].children;
    const int row = static_cast<int>(siblings.size());
    siblings.push_back(child);
    items_.push_back({.name = name, .parent = parent, .row = row});
    return child;
}

void ParameterTreeModel::setModel(std::shared_ptr<const ModelInfo> model) {
    beginResetModel();
    items_.assign(1, Item{});
    if (model) {
        for (const ParameterInfo& parameter : model->parameters) {
            const QString fullName = QString::fromStdString(parameter.name);
            int at = 0;
            for (const QString& part : fullName.split('.')) at = childNamed(at, part);
            QStringList sizes;
            for (int64_t size : parameter.shape) sizes << QString::number(size);
            Item& leaf = items_[static_cast<size_t>(at)];
            leaf.parameter = fullName;
            leaf.shape = sizes.join(QStringLiteral(" × "));
            leaf.source = shownText(parameter.sourceName);
            for (int up = at;; up = items_[static_cast<size_t>(up)].parent) {
                items_[static_cast<size_t>(up)].count += parameter.count;
                if (up == 0) break;
            }
        }
    }
    endResetModel();
}

QModelIndex ParameterTreeModel::find(const QString& parameter) const {
    for (size_t i = 1; i < items_.size(); ++i)
        if (items_[i].parameter == parameter) return createIndex(items_[i].row, 0, static_cast<quintptr>(i));
    return {};
}

QModelIndex ParameterTreeModel::index(int row, int column, const QModelIndex& parent) const {
    const auto& children = item(parent).children;
    if (row < 0 || row >= static_cast<int>(children.size()) || column < 0 || column >= ColumnCount) return {};
    return createIndex(row, column, id(children[static_cast<size_t>(row)]));
}

QModelIndex ParameterTreeModel::parent(const QModelIndex& child) const {
    if (!child.isValid()) return {};
    const int parent = item(child).parent;
    return parent == 0 ? QModelIndex() : createIndex(items_[static_cast<size_t>(parent)].row, 0, id(parent));
}

int ParameterTreeModel::rowCount(const QModelIndex& parent) const {
    return parent.column() > 0 ? 0 : static_cast<int>(item(parent).children.size());
}

int ParameterTreeModel::columnCount(const QModelIndex&) const { return ColumnCount; }

QVariant ParameterTreeModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const Item& row = item(index);
    if (role == ParameterRole) return row.parameter;
    if (role == Qt::ToolTipRole && !row.source.isEmpty())
        return tr("%1 in the file: %2").arg(row.parameter, row.source);
    if (role == Qt::TextAlignmentRole && index.column() == CountColumn)
        return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
    if (role != Qt::DisplayRole) return {};
    switch (index.column()) {
    case NameColumn:
        return row.name;
    case ShapeColumn:
        return row.shape;
    default:
        return grouped(row.count);
    }
}

QVariant ParameterTreeModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || (role != Qt::DisplayRole && role != Qt::ToolTipRole)) return {};
    const bool isHelp = role == Qt::ToolTipRole;
    if (section == NameColumn) return isHelp ? tr("Name of the parameter, by block and layer") : tr("Parameter");
    if (section == ShapeColumn) return isHelp ? tr("Rows × columns") : tr("Shape");
    return isHelp ? tr("How many numbers it holds") : tr("Numbers");
}

} // namespace attn
