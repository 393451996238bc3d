#pragma once

#include "app/figures/pointed_figure.h"

#include <QCoreApplication>

#include <vector>

namespace attn {

/// The way from a token to the prediction after it, on one line: for each layer, the heads that add most to the logit
/// of the prediction, as bars: up for what a head adds, down for what it takes. Items are the heads that are shown.
struct FlowFigure : PointedFigure {
    struct Head {
        int site = 0, head = 0;
        float value = 0; ///< what it adds to the logit; negative numbers lower it
        QString name;    ///< "Cross L0 H3"
    };
    QString from;                    ///< the token after which is predicted; empty: the whole input
    QString to;                      ///< the prediction
    QString target;                  ///< "logit of “cat”"
    QString note;                    ///< instead of heads
    std::vector<Head> all;           ///< by site
    std::vector<QString> siteLabels; ///< "L2"
    std::vector<Head> heads;         ///< those that are shown; by site, the strongest of each first

    /// Chooses the heads that have room: the strongest of each site, then those that add or take most.
    void fit(double width, const FigureTheme& theme);
    static double height(const FigureTheme& theme); ///< that the figure needs

    /// The places of the heads that are shown, each with its bar and its name.
    std::vector<QRectF> places(const QRectF& area, const FigureTheme& theme) const;

    int items() const override { return static_cast<int>(heads.size()); }
    std::optional<int> itemAt(const QPointF& point, const QRectF& area, const FigureTheme& theme) const override;
    int moved(int item, int right, int down) const override;
    QString reading(int item) const override; ///< "L2 H3 raises the logit of “cat” by 1.250."

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// Columns: head, contribution. Of all heads.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return !all.empty(); }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<FlowFigure>(*this); }

private:
    struct Widths {
        double from, to, head;
    };
    Widths widths(double width, const FigureTheme& theme) const;
    double labelWidth(int site, const FigureTheme& theme) const; ///< with the gap before it

    Q_DECLARE_TR_FUNCTIONS(attn::FlowFigure)
};

} // namespace attn
