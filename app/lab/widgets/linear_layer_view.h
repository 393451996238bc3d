#pragma once

#include "engine/session/playground_session.h"

#include <QWidget>

#include <array>
#include <memory>
#include <optional>
#include <vector>

class QLabel;
class QPushButton;

namespace attn {

struct FigureTheme;
class MatrixView;
class PlotGrid;

/// Shows attention as a dynamic linear layer z = W(x) v beside a static one, z = W v: the weights of both, their
/// outputs, and how much each weight has changed since the input before.
class LinearLayerView : public QWidget {
    Q_OBJECT

public:
    explicit LinearLayerView(QWidget* parent = nullptr);

    /// @return the query that asks for both layers  @param query of the attention, with its input
    PlaygroundQuery query(PlaygroundQuery query) const;
    /// @param snapshot an answer to query()  @param head the matrix of each map to show
    void showLayers(const std::shared_ptr<const PlaygroundSnapshot>& snapshot, int head);
    /// Sets the token labels on the axes of the maps that are shown next; empty: no labels.
    void setLabels(std::vector<QString> labels) { labels_ = std::move(labels); }
    void setTheme(const FigureTheme& theme);

    /// @return the figure that export writes: the one last pointed at, else the dynamic weight
    const Figure& current() const;

signals:
    /// Another random input is wanted: ask again.
    void queryChanged();

private:
    /// Shows the maps of one layer. @return the largest change of its weight; none: there is no input before
    std::optional<float> showLayer(size_t column, const std::vector<PlaygroundMap>& maps,
                                   const std::vector<PlaygroundMap>* before, const AttentionSpec& spec, int head);

    uint64_t draws_ = 0; ///< how often another random input was drawn
    std::vector<QString> labels_;
    std::shared_ptr<const PlaygroundSnapshot> shown_, before_; ///< the newest input, and the one before it
    QPushButton* draw_;
    QLabel *summary_, *reading_;
    std::array<MatrixView*, 6> maps_; ///< weight, change and output: of attention, of the static layer
    PlotGrid* grid_;
    const MatrixView* lastUsed_ = nullptr;
};

} // namespace attn
