#pragma once

#include "app/figures/colour_map.h"
#include "app/figures/drawing.h"
#include "app/figures/figure.h"

#include <QImage>

#include <optional>
#include <vector>

namespace attn {

/// A picture with a number for each of its patches laid over it: where a patch looks, or how much of each reaches the
/// output. Numbers are coloured from zero to the largest, or to both sides of zero where they have signs.
struct PatchOverlayFigure : Figure {
    QImage image;        ///< what the model sees
    QString title, note; ///< what it is; a remark below, such as what goes to tokens that are no patches
    ColourMapId colours = ColourMapId::Viridis;
    double opacity = 0.6;        ///< of the colours: 0 shows the picture alone
    bool isSmooth = false;       ///< blends between patches
    std::optional<int> marked;   ///< a patch with a frame: the one that looks
    std::optional<int> hovered;  ///< likewise, with a thin one
    bool isSigned = false;       ///< in diverging colours, from minus the largest to the largest
    bool showsGrid = true;       ///< lines between the patches, or between tokens that are several
    std::vector<int32_t> tokens; ///< [rows, columns]: patches of equal numbers are one token; empty: each is its own

    /// @param values [rows, columns], none negative unless isSigned
    void setValues(int rows, int columns, std::vector<float> values);
    int rows() const { return rows_; }
    int columns() const { return columns_; }
    bool isEmpty() const { return values_.empty() || image.isNull(); }
    float largest() const { return largest_; } ///< of the sizes; 1 where all are zero

    struct Layout {
        QRectF title, note, picture, bar; ///< null where there is no room
        QRectF patchRect(int patch, int columns, int rows) const;
    };
    Layout layout(const QRectF& area, const FigureTheme& theme) const;
    std::optional<int> patchAt(const QPointF& point, const Layout& layout) const;

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// A matrix of the patches: first row columns' numbers, first column rows' numbers.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;

private:
    std::vector<Tick> ticks() const;
    QImage overlay() const; ///< one pixel per patch
    void drawBorders(QPainter& painter, const Layout& layout) const;
    ColourMapId map() const { return isSigned ? ColourMapId::Diverging : colours; }

    int rows_ = 0, columns_ = 0;
    float largest_ = 1;
    std::vector<float> values_;
};

} // namespace attn
