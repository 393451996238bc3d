#pragma once

#include "app/figures/pointed_figure.h"
#include "engine/inference/beam_search.h"

namespace attn {

/// The tree of a beam search: a column for each token, the most probable text on top. Items are nodes of the tree. Each
/// column shows the most probable dropped texts, at most as many as the beam is wide.
struct BeamFigure : PointedFigure {
    QString title, note;
    int width = 4;                 ///< of the beam
    std::vector<BeamNode> nodes{}; ///< parents before children; the root is the end of the prompt
    std::vector<QString> texts{};  ///< the token of each node
    std::vector<int> finished{};   ///< last nodes of the finished texts, the best first

    /// Rectangles of the nodes; null for nodes that are not shown.
    std::vector<QRectF> layout(const QRectF& area, const FigureTheme& theme) const;

    int items() const override { return static_cast<int>(nodes.size()); }
    std::optional<int> itemAt(const QPointF& point, const QRectF& area, const FigureTheme& theme) const override;
    int moved(int item, int right, int down) const override;
    QString reading(int item) const override;

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    QSizeF pageSize(const QSizeF& onScreen, const FigureTheme& theme) const override;
    /// One line per node.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return nodes.size() > 1; }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<BeamFigure>(*this); }

private:
    struct Place {
        int column = 0, row = -1; ///< row -1: not shown
    };
    std::vector<Place> places() const;
    std::vector<int> wayTo(int node) const; ///< from the first token, without the root
    double probability(int node) const;     ///< of a node's token after the tokens before it
};

} // namespace attn
