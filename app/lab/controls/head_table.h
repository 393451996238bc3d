#pragma once

#include "app/figures/figure.h"
#include "engine/analysis/head_kinds.h"

#include <QWidget>

#include <memory>
#include <optional>
#include <span>

class QComboBox;
class QLabel;
class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace attn {

struct ModelInfo;

/// Lists the heads of a model with thumbnails, their kinds and their groups of similar heads. One head can be the
/// reference: all heads are then compared with it, also those of models that are opened later.
class HeadTable : public QWidget {
    Q_OBJECT

public:
    /// @param name the start of the names of its widgets
    explicit HeadTable(const QString& name, QWidget* parent = nullptr);

    /// Shows a detection. The selected head stays selected; headChosen() is not emitted.
    /// @param detection null: none  @param before that of the original run; null: not compared
    /// @param model that has the heads
    void setDetection(std::shared_ptr<const HeadDetection> detection, std::shared_ptr<const HeadDetection> before,
                      std::shared_ptr<const ModelInfo> model);
    /// Selects a head that was chosen elsewhere, and explains it.
    void showHead(int site, int head);
    ExportNumbers numbers() const;

signals:
    void headChosen(int site, int head);

private:
    const HeadScores* headOf(const QTreeWidgetItem* item) const;
    const HeadScores* beforeOf(const HeadScores& head) const; ///< in the original run; null: not compared
    std::vector<float> similarities();                        ///< to the reference; empty without one
    void listOrders();
    void list();
    void nameReference(); ///< in the list of orders
    void sort();
    void select(size_t index); ///< of a head of the detection
    void explain();
    QString explanationOf(const HeadScores& head) const;
    void sortBySimilarity();

    std::shared_ptr<const HeadDetection> shown_, before_;
    std::span<const HeadKind> kinds_; ///< that the list of orders names: those of the last detection
    std::shared_ptr<const ModelInfo> model_;
    struct Reference {
        std::shared_ptr<const HeadDetection> in;
        size_t index = 0;
        std::shared_ptr<const ModelInfo> model;
    };
    std::optional<Reference> reference_; ///< the head that the others are compared with
    std::vector<int> groups_;            ///< number of each head's; 0: it is like no other
    QTreeWidget* table_;
    QComboBox* order_;
    QLabel* explanation_;
    QPushButton* similar_;
};

} // namespace attn
