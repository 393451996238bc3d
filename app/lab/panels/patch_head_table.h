#pragma once

#include "app/figures/figure.h"
#include "engine/analysis/patch_head_kinds.h"

#include <QWidget>

#include <memory>
#include <optional>

class QLabel;
class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace attn {

struct ModelInfo;

/// Lists the heads of a vision model with their kinds and their groups of similar heads. One head can be the reference:
/// all heads are then compared with it, also those of models that are opened later.
class PatchHeadTable : public QWidget {
    Q_OBJECT

public:
    explicit PatchHeadTable(QWidget* parent = nullptr);

    /// Shows a detection. The selected head stays selected; headChosen() is not emitted.
    /// @param detection null: none  @param model that has the heads
    void setDetection(std::shared_ptr<const PatchHeadDetection> detection, std::shared_ptr<const ModelInfo> model);
    ExportNumbers numbers() const;

signals:
    void headChosen(int layer, int head);

private:
    const PatchHeadScores* headOf(const QTreeWidgetItem* item) const;
    void list();
    void select(size_t index); ///< of a head of the detection
    void explain();
    void sortBySimilarity();

    std::shared_ptr<const PatchHeadDetection> shown_;
    std::shared_ptr<const ModelInfo> model_;
    struct Reference {
        std::shared_ptr<const PatchHeadDetection> in;
        size_t index = 0;
        std::shared_ptr<const ModelInfo> model;
    };
    std::optional<Reference> reference_; ///< the head that the others are compared with
    std::vector<int> groups_;            ///< number of each head's; 0: it is like no other
    QTreeWidget* table_;
    QLabel* explanation_;
    QPushButton* similar_;
};

} // namespace attn
