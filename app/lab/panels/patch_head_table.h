#pragma once

#include "app/figures/figure.h"
#include "engine/analysis/patch_head_kinds.h"

#include <QWidget>

#include <memory>

class QLabel;
class QTreeWidget;
class QTreeWidgetItem;

namespace attn {

/// Heads of a vision model with their kinds, in the order of the column that is clicked; by kind they stand in groups.
class PatchHeadTable : public QWidget {
    Q_OBJECT

public:
    explicit PatchHeadTable(QWidget* parent = nullptr);

    /// The head that was selected stays so, and is not chosen again. @param detection null: none
    void setDetection(std::shared_ptr<const PatchHeadDetection> detection);
    QString csv() const;
    std::vector<NumberArray> numbers() const;

signals:
    void headChosen(int layer, int head);

private:
    const PatchHeadScores* headOf(const QTreeWidgetItem* item) const;
    void explain();

    std::shared_ptr<const PatchHeadDetection> shown_;
    QTreeWidget* table_;
    QLabel* explanation_;
};

} // namespace attn
