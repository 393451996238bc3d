#pragma once

#include "engine/session/playground_session.h"

#include <QWidget>

#include <memory>
#include <vector>

class QLabel;
class QPushButton;

namespace attn {

struct Figure;
struct FigureTheme;
class LinesView;
class MatrixView;
class PlotGrid;

/// Compares the fused kernel, which works by tiles, with the formed path: the memory and the bytes that each needs, and
/// the difference of their outputs. A button computes the output by the other path.
class PathsView : public QWidget {
    Q_OBJECT

public:
    explicit PathsView(QWidget* parent = nullptr);

    /// The path that computes the output at present.
    AttentionPath path() const { return path_; }
    /// @param snapshot an answer to a query with path()  @param head the matrix of each map to show
    void showPaths(const std::shared_ptr<const PlaygroundSnapshot>& snapshot, int head);
    /// Sets the token labels on the axes of the maps that are shown next; empty: no labels.
    void setLabels(std::vector<QString> labels) { labels_ = std::move(labels); }
    void setTheme(const FigureTheme& theme);

    /// @return the figure to export: the last map under the pointer, otherwise the bytes
    const Figure& current() const;

signals:
    /// The path changed: send a new query.
    void queryChanged();

private:
    void showBytes(const PathTraffic& traffic);
    void showMap(MatrixView* view, const PlaygroundMap* map, const AttentionSpec& spec, int head);
    void say(const PathComparison& paths);

    AttentionPath path_ = AttentionPath::Tiled;
    std::vector<QString> labels_;
    QPushButton* switch_;
    QLabel *summary_, *reading_;
    LinesView* bytes_;
    std::vector<MatrixView*> maps_; ///< walked, largest, sum, scores, pattern, z
    PlotGrid* grid_;
    const MatrixView* lastUsed_ = nullptr;
};

} // namespace attn
