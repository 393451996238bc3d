#pragma once

#include "app/figures/colour_map.h"
#include "app/figures/drawing.h"
#include "app/figures/figure.h"

#include <QCoreApplication>
#include <QImage>

#include <memory>
#include <optional>
#include <vector>

namespace attn {

/// A picture with one coloured number over each patch, for example the attention that the patch receives. Colours run
/// from zero to the largest number, or in both directions from zero for signed numbers.
struct PatchOverlayFigure : Figure {
    QImage image;        ///< the picture as the model sees it
    QString title, note; ///< the title above; a remark below, such as the attention that goes to CLS
    ColourMapId colours = ColourMapId::Viridis;
    double opacity = 0.6;        ///< of the colours; 0 shows only the picture
    bool isSmooth = false;       ///< blend the colours between patches
    std::optional<int> marked;   ///< the query patch, drawn with a frame
    std::optional<int> hovered;  ///< the patch under the pointer, drawn with a thin frame
    bool isSigned = false;       ///< diverging colours, symmetric about zero
    bool isBare = false;         ///< a thumbnail: only the picture and the colours
    bool showsGrid = true;       ///< lines between patches, or between tokens of several patches
    std::vector<int32_t> tokens; ///< [rows, columns] patches with equal numbers form one token; empty: one patch each

    /// @param values [rows, columns], none negative unless isSigned
    void setValues(int rows, int columns, std::vector<float> values);
    int rows() const { return rows_; }
    int columns() const { return columns_; }
    const std::vector<float>& values() const { return values_; }
    bool isEmpty() const { return values_.empty() || image.isNull(); }
    float largest() const { return largest_; } ///< the largest magnitude; 1 if all numbers are zero

    struct Layout {
        QRectF title, note, picture, bar; ///< null where there is no room
        QRectF patchRect(int patch, int columns, int rows) const;
    };
    Layout layout(const QRectF& area, const FigureTheme& theme) const;
    std::optional<int> patchAt(const QPointF& point, const Layout& layout) const;

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// A matrix of patches: the first row holds the column numbers, the first column the row numbers.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return !isEmpty(); }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<PatchOverlayFigure>(*this); }

private:
    std::vector<Tick> ticks() const;
    QImage overlay() const; ///< one pixel per patch
    void drawBorders(QPainter& painter, const Layout& layout) const;
    ColourMapId map() const { return isSigned ? ColourMapId::Diverging : colours; }

    int rows_ = 0, columns_ = 0;
    float largest_ = 1;
    std::vector<float> values_;

    Q_DECLARE_TR_FUNCTIONS(attn::PatchOverlayFigure)
};

} // namespace attn
