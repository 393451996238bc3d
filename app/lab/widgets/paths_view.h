#pragma once

#include "engine/session/playground_session.h"

#include <QWidget>

#include <memory>
#include <vector>

class QLabel;
class QPushButton;

namespace attn {

struct FigureTheme;
class LinesView;
class MatrixView;
class PlotGrid;

/// Shows how the fused kernel computes an attention by tiles, and how the formed path does: what each keeps, the bytes
/// that each moves, and how far their outputs differ. A button computes the output by the other path.
class PathsView : public QWidget {
    Q_OBJECT

public:
    explicit PathsView(QWidget* parent = nullptr);

    /// The path that computes the output now.
    AttentionPath path() const { return path_; }
    /// @param snapshot an answer to a query with path()  @param head the matrix of each map to show
    void showPaths(const std::shared_ptr<const PlaygroundSnapshot>& snapshot, int head);
    /// Sets the token labels on the axes of the maps that are shown next; empty: no labels.
    void setLabels(std::vector<QString> labels) { labels_ = std::move(labels); }
    void setTheme(const FigureTheme& theme);

    /// @return the figure that export writes: the map last pointed at, else the bytes
    const Figure& current() const;

signals:
    /// The path has changed: ask again.
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
