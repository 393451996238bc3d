#pragma once

#include "app/lab/workbench/panel.h"
#include "app/lab/workbench/workbench.h"

class QLabel;
class QPlainTextEdit;
class QTabWidget;
class QTreeView;
class QTreeWidget;

namespace attn {

class ParameterTreeModel;
class PatchEmbeddingPage;
class WeightCanvas;

/// Describes the open model: facts, a tree of parameters, a heatmap of one parameter, configuration and tokenizer.
class ModelPanel : public Panel {
    Q_OBJECT

public:
    explicit ModelPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    ExportNumbers numbers() const override;

private:
    void showModel();
    void showWeight(const QModelIndex& index);

    std::shared_ptr<const Snapshot> snapshot_;
    QLabel* facts_;
    QLabel* warnings_;
    ParameterTreeModel* model_;
    QTreeView* tree_;
    QTabWidget* tabs_;
    WeightCanvas* weight_;
    QPlainTextEdit* config_;
    QLabel* tokenizer_;
    QTreeWidget* settings_;                    ///< what the configuration asks for, and what is in force
    PatchEmbeddingPage *positions_, *filters_; ///< of vision models
};

} // namespace attn
