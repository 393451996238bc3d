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

/// Plots what the position part of a composition does to made-up inputs, also beyond the trained length: its encodings,
/// the tree that it reads, the planes that it rotates, the numbers that it adds to scores, and the score of identical
/// tokens by distance.
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
    /// Which of two compositions is shown: "A" or "B"; empty: there is one.
    void setSide(const QString& side);
    void setTheme(const FigureTheme& theme);

    /// @return the plot that export writes: the one last pointed at, else the scores by distance
    const Figure& current() const;
    QJsonObject saveView() const;
    void restoreView(const QJsonObject& view);

signals:
    /// The lengths have changed: ask for query() again.
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
