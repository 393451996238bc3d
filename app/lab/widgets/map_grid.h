#pragma once

#include "app/lab/widgets/matrix_view.h"
#include "engine/session/playground_session.h"

#include <vector>

class QGridLayout;

namespace attn {

/// The maps of an attention side by side; a double click enlarges one and brings all back.
class MapGrid : public QWidget {
    Q_OBJECT

public:
    explicit MapGrid(QWidget* parent = nullptr);

    /// @param head, plane which of each map
    void showMaps(const std::shared_ptr<const PlaygroundSnapshot>& snapshot, int head, int plane);
    void setTheme(const FigureTheme& theme);
    /// Of the tokens, for the axes of the maps that are shown next; empty: they have none.
    void setLabels(std::vector<QString> labels) { labels_ = std::move(labels); }

    /// The map that is enlarged or was last worked in, else the pattern, else the first; null: there is none.
    const MatrixView* current() const;

signals:
    /// What stands in the cell that is pointed at; empty: at none.
    void readingChanged(const QString& text);
    /// The row that is pointed at in any map.
    void rowPointed(std::optional<int> row);

private:
    std::vector<QString> labels_;
    void arrange();
    void point(const MatrixView* from, const std::optional<Cell>& cell);

    QGridLayout* grid_;
    std::vector<MatrixView*> views_; ///< as many as ever were needed
    size_t count_ = 0;               ///< how many are in use
    const MatrixView *enlarged_ = nullptr, *lastUsed_ = nullptr;
    std::vector<std::string> names_;
    FigureTheme theme_ = FigureTheme::light();
};

} // namespace attn
