#pragma once

#include "app/figures/figure.h"
#include "app/figures/scale.h"

#include <QCoreApplication>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace attn {

/// Lines between words (Vig 2019, "A multiscale visualization of attention in the transformer model"). Each line joins
/// a query, at the left, to a key that it attends to, at the right. Its opacity is the weight, and its colour stands
/// for the head.
struct ArcsFigure : Figure {
    struct Head {
        int number = 0;
        std::shared_ptr<const PatternTile> tile; ///< may be pooled: a line then joins the first tokens of its pixels
    };
    std::vector<Head> heads;
    QString title;
    std::vector<QString> labels;      ///< one for each query
    std::vector<QString> keyLabels{}; ///< one for each key; empty: the same as the queries' labels
    bool hidesFirst = false;          ///< leave out lines to the first token
    std::optional<int> query, key;    ///< if one is set, only its lines are drawn

    struct Layout {
        QRectF title, legend;
        double top = 0, step = 0;          ///< of the rows of words
        double labelWidth = 0;             ///< of each column of words
        double queryEdge = 0, keyEdge = 0; ///< where lines start and end
    };
    Layout layout(const QRectF& area, const FigureTheme& theme) const;
    /// A token in the left column, or in the right one if isKey.
    struct Place {
        int token = 0;
        bool isKey = false;
        bool operator==(const Place&) const = default;
    };
    std::optional<Place> placeAt(const QPointF& point, const QRectF& area, const FigureTheme& theme) const;
    /// The least height at which every word can be read.
    double heightNeeded(const FigureTheme& theme) const;
    bool isEmpty() const { return heads.empty() || labels.empty(); }
    const std::vector<QString>& keys() const { return keyLabels.empty() ? labels : keyLabels; }
    int rows() const { return static_cast<int>(std::max(labels.size(), keys().size())); } ///< of words

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// One row for each head, query and key with a weight that is drawn.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return !isEmpty(); }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<ArcsFigure>(*this); }

private:
    /// Calls use(index of the head, query, key, weight) for each line that is drawn.
    template <class Use> void forEachLine(const Use& use) const;

    Q_DECLARE_TR_FUNCTIONS(attn::ArcsFigure)
};

} // namespace attn
