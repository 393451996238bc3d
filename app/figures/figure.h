#pragma once

#include "app/figures/figure_theme.h"

#include <QRectF>
#include <QString>

#include <cstdint>
#include <string>
#include <vector>

class QPainter;

namespace attn {

/// Numbers behind a picture, row-major.
struct NumberArray {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<float> values;
};

/// A picture as data: what it shows is in its fields, and it draws the same on screen, in an image, SVG and PDF.
struct Figure {
    virtual ~Figure() = default;
    /// Fills all of `area`.
    virtual void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const = 0;
    /// The numbers behind the picture as comma-separated values (RFC 4180), full precision; empty where there is
    /// nothing to show.
    virtual QString csv() const = 0;
    /// The same as named arrays; none where there is nothing to show.
    virtual std::vector<NumberArray> numbers() const = 0;
};

} // namespace attn
