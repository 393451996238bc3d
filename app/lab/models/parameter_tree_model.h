#pragma once

#include "engine/inference/model_info.h"

#include <QAbstractItemModel>

#include <memory>
#include <vector>

namespace attn {

/// A model's parameters grouped by their dotted path: blocks > 0 > attn > W_Q, with shapes and counts.
class ParameterTreeModel : public QAbstractItemModel {
    Q_OBJECT

public:
    enum Column { NameColumn, ShapeColumn, CountColumn, ColumnCount };
    enum Role { ParameterRole = Qt::UserRole }; ///< full name, empty for a group

    using QAbstractItemModel::QAbstractItemModel;

    void setModel(std::shared_ptr<const ModelInfo> model);
    QModelIndex find(const QString& parameter) const;

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& child) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    struct Item {
        QString name;
        QString parameter; ///< full name, empty for a group
        QString shape;
        QString source;
        int64_t count = 0;
        int parent = 0;
        int row = 0;
        std::vector<int> children;
    };

    int childNamed(int parent, const QString& name);
    static quintptr id(int item) { return static_cast<quintptr>(item); }
    const Item& item(const QModelIndex& index) const { return items_[index.isValid() ? index.internalId() : 0]; }

    std::vector<Item> items_ = std::vector<Item>(1); ///< item 0 is the invisible root
};

} // namespace attn
