#pragma once

#include "app/figures/rotation_figure.h"
#include "app/lab/widgets/figure_view.h"
#include "app/lab/widgets/tree_view.h"
#include "engine/session/playground_session.h"

#include <QJsonObject>

#include <memory>
#include <vector>

class QLabel;

namespace attn {

class FormulaView;
class LinesView;
class MatrixView;
class ParamControls;
class PlotGrid;

/// Plots the effect of a composition's position part on artificial inputs, also beyond the trained length: encodings,
/// the tree, the rotated planes, the numbers that it adds to scores, and the score of identical tokens by distance.
class PositionView : public QWidget {
    Q_OBJECT

public:
    explicit PositionView(QWidget* parent = nullptr);

    /// @return the query for the session
    PositionQuery query(const AttentionSpec& spec, int64_t width, uint64_t seed) const;
    /// @param snapshot with the answer to the last query(), or the reason why there is none
    void showPictures(const std::shared_ptr<const PlaygroundSnapshot>& snapshot);
    /// Sets the tokens at the first positions; empty: none.
    void setLabels(const std::vector<QString>& labels);
    /// The name of the shown composition, "A" or "B"; empty if there is only one.
    void setSide(const QString& side);
    void setTheme(const FigureTheme& theme);

    /// @return the plot to export: the last one under the pointer, otherwise the scores by distance
    const Figure& current() const;
    QJsonObject saveView() const;
    void restoreView(const QJsonObject& view);

signals:
    /// The lengths changed: send a new query().
    void queryChanged();

private:
    void showTitle();
    void showEncodings(const PlaygroundMap& encodings);
    void showTree(const DependencyTree& tree);
    LinesView* plot(const char* name);
    MatrixView* matrix(const char* name);
    int trained() const;

    std::shared_ptr<const PositionPictures> shown_;
    std::vector<QString> labels_;
    QString side_;
    ParamControls* lengths_;
    QLabel *title_, *reading_;
    FormulaView* formula_;
    PlotGrid* grid_;
    MatrixView *encodings_, *relative_;
    TreeView* tree_;
    LinesView *waves_, *similarity_, *added_, *factor_, *slopes_;
    FigureView<RotationFigure>* rotation_;
    const QWidget* lastUsed_ = nullptr;
};

} // namespace attn
