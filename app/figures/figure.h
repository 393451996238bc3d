#pragma once

#include "app/figures/figure_theme.h"

#include <QRectF>
#include <QString>

#include <cstdint>
#include <string>
#include <vector>

class QPainter;

namespace attn {

/// The numbers behind a figure, row-major.
struct NumberArray {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<float> values;
};

/// A figure as data: its fields hold everything that it shows, and it looks the same on screen, in an image, in SVG and
/// in PDF.
struct Figure {
    virtual ~Figure() = default;
    /// Fills all of `area`.
    virtual void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const = 0;
    /// The numbers behind the figure as comma-separated values (RFC 4180) at full precision; empty if there is nothing
    /// to show.
    virtual QString csv() const = 0;
    /// The same numbers as named arrays; none if there is nothing to show.
    virtual std::vector<NumberArray> numbers() const = 0;
};

} // namespace attn
