#pragma once

#include "app/lab/widgets/matrix_view.h"
#include "engine/session/playground_session.h"

#include <vector>

class QGridLayout;

namespace attn {

/// Shows one map of an attention large, the pattern at first, and the others in a strip beside it, with cells of one
/// size if they fit. A double click makes another map the large one, hides the others, or shows all maps again.
class MapGrid : public QWidget {
    Q_OBJECT

public:
    explicit MapGrid(QWidget* parent = nullptr);

    /// @param head, plane the matrix of each map to show
    void showMaps(const std::shared_ptr<const PlaygroundSnapshot>& snapshot, int head, int plane);
    void setTheme(const FigureTheme& theme);
    /// Sets the token labels on the axes of the maps that are shown next; empty: no labels.
    void setLabels(std::vector<QString> labels) { labels_ = std::move(labels); }

    void showPattern(); ///< as at first: the pattern large, and the others in the strip
    /// @return the last used map, otherwise the large one; null if there are no maps
    const MatrixView* current() const;

protected:
    bool event(QEvent* event) override;

signals:
    /// @param text the reading of the cell under the pointer; empty: no cell
    void readingChanged(const QString& text);
    /// @param row under the pointer in any map; none when the pointer leaves
    void rowPointed(std::optional<int> row);

private:
    std::vector<QString> labels_;
    void arrange();
    void alignCells();    ///< gives the maps of the strip the smallest cell size, and wide maps only what they need
    size_t large() const; ///< the place of the large map: the chosen one, otherwise the pattern, otherwise the first
    void point(const MatrixView* from, const std::optional<MatrixCell>& cell);

    QGridLayout* grid_;
    std::vector<MatrixView*> views_; ///< all views, including unused ones
    size_t count_ = 0;               ///< number of views in use
    std::string chosen_;             ///< the name of the map that the user made the large one; empty: none
    bool isAlone_ = false;           ///< whether the large map hides the others
    const MatrixView* lastUsed_ = nullptr;
    std::vector<std::string> names_;
    FigureTheme theme_ = FigureTheme::light();
};

} // namespace attn
