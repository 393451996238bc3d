#pragma once

#include "app/figures/figure.h"
#include "app/figures/scale.h"

#include <QCoreApplication>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace attn {

/// Lines between words (Vig 2019, "A multiscale visualization of attention in the transformer model"): each query, at
/// the left, is joined to the keys that it attends to, at the right. A line is as opaque as its weight. Every head has
/// a colour of its own.
struct ArcsFigure : Figure {
    struct Head {
        int number = 0;
        std::shared_ptr<const PatternTile> tile; ///< may be pooled: a line then joins the first tokens of its pixels
    };
    std::vector<Head> heads;
    QString title;
    std::vector<QString> labels;      ///< one for each query
    std::vector<QString> keyLabels{}; ///< one for each key; empty: those of the queries
    bool hidesFirst = false;          ///< leave out lines to the first token
    std::optional<int> query, key;    ///< with one of them, only its lines are drawn

    struct Layout {
        QRectF title, legend;
        double top = 0, step = 0;          ///< of the rows of words
        double labelWidth = 0;             ///< of each column of words
        double queryEdge = 0, keyEdge = 0; ///< where lines start and end
    };
    Layout layout(const QRectF& area, const FigureTheme& theme) const;
    /// The token in the left column (isKey: the right one) at a point; none between the columns.
    struct Place {
        int token = 0;
        bool isKey = false;
        bool operator==(const Place&) const = default;
    };
    std::optional<Place> placeAt(const QPointF& point, const QRectF& area, const FigureTheme& theme) const;
    /// The height at which every word can be read.
    double heightNeeded(const FigureTheme& theme) const;
    bool isEmpty() const { return heads.empty() || labels.empty(); }
    const std::vector<QString>& keys() const { return keyLabels.empty() ? labels : keyLabels; }
    int rows() const { return static_cast<int>(std::max(labels.size(), keys().size())); } ///< of words

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// One line per head, query and key with a weight that is drawn.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return !isEmpty(); }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<ArcsFigure>(*this); }

private:
    /// Calls back for each line that is drawn: (index of the head, query, key, weight).
    template <class Use> void forEachLine(const Use& use) const;

    Q_DECLARE_TR_FUNCTIONS(attn::ArcsFigure)
};

} // namespace attn
