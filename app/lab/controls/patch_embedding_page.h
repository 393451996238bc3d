#pragma once

#include "app/figures/export_figure.h"
#include "app/lab/workbench/workbench.h"

#include <QJsonObject>
#include <QWidget>

class QComboBox;

namespace attn {

class PointedView;
struct TilesFigure;

/// What a vision model makes patches into before the first layer: the similarity of its position embeddings, or the
/// filters of its patch embedding. Reads the parameters when it is first visible.
class PatchEmbeddingPage : public QWidget {
    Q_OBJECT

public:
    enum class Kind { Positions, Filters };
    PatchEmbeddingPage(Kind kind, Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot);
    ExportNumbers numbers() const;
    /// Of filters: which of them are shown.
    QJsonObject saveView() const;
    void restoreView(const QJsonObject& view);

protected:
    void showEvent(QShowEvent* event) override;

private:
    void ask();
    void setFigure(std::unique_ptr<TilesFigure> figure);
    void show();

    Kind kind_;
    Workbench& bench_;
    QString problem_; ///< why there is no result; empty: there is one, or it is being computed
    std::shared_ptr<const Snapshot> snapshot_;
    std::shared_ptr<const AnalysisResult> shown_;
    std::shared_ptr<const ModelInfo> asked_;
    PointedView* view_;
    QComboBox* filterKind_ = nullptr;
};

} // namespace attn
