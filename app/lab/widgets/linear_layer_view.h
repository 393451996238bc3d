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

struct Figure;
struct FigureTheme;
class MatrixView;
class PlotGrid;

/// Shows attention as a dynamic linear layer z = W(x) v beside a static one, z = W v: the weights and outputs of both,
/// and how much each weight changed since the previous input.
class LinearLayerView : public QWidget {
    Q_OBJECT

public:
    explicit LinearLayerView(QWidget* parent = nullptr);

    /// @return the query for both layers  @param query for the attention, with its input
    PlaygroundQuery query(PlaygroundQuery query) const;
    /// @param snapshot an answer to query()  @param head the matrix of each map to show
    void showLayers(const std::shared_ptr<const PlaygroundSnapshot>& snapshot, int head);
    /// Sets the token labels on the axes of the maps that are shown next; empty: no labels.
    void setLabels(std::vector<QString> labels) { labels_ = std::move(labels); }
    void setTheme(const FigureTheme& theme);

    /// @return the figure to export: the last one under the pointer, otherwise the dynamic weight
    const Figure& current() const;

signals:
    /// The user wants another random input: send a new query.
    void queryChanged();

private:
    /// Shows the maps of one layer. @return the largest change of its weight; none for the first input
    std::optional<float> showLayer(size_t column, const std::vector<PlaygroundMap>& maps,
                                   const std::vector<PlaygroundMap>* before, const AttentionSpec& spec, int head);

    uint64_t draws_ = 0; ///< how many times the user asked for another random input
    std::vector<QString> labels_;
    std::shared_ptr<const PlaygroundSnapshot> shown_, before_; ///< the newest input, and the previous one
    QPushButton* draw_;
    QLabel *summary_, *reading_;
    std::array<MatrixView*, 6> maps_; ///< weight, change and output: of the attention, then of the static layer
    PlotGrid* grid_;
    const MatrixView* lastUsed_ = nullptr;
};

} // namespace attn
