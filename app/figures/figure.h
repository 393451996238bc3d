#pragma once

#include "app/figures/figure_theme.h"

#include <QRectF>
#include <QString>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

class QPainter;

namespace attn {

/// The numbers behind a figure, row-major. NaN marks a cell that the mask or the view hides, and is an empty field in a
/// CSV file. A visible weight may be 0.
struct NumberArray {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<float> values;
};

/// A figure as data: its fields determine all that it shows. It looks the same on screen, in an image, in SVG and in
/// PDF.
struct Figure {
    virtual ~Figure() = default;
    /// Fills all of `area`.
    virtual void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const = 0;
    /// The page for an export, in logical pixels: large enough for its labels, and without empty margins.
    virtual QSizeF pageSize(const QSizeF& onScreen, const FigureTheme& theme) const {
        Q_UNUSED(theme)
        return onScreen;
    }
    /// The numbers behind the figure as comma-separated values (RFC 4180) at full precision; empty if there is nothing
    /// to show.
    virtual QString csv() const = 0;
    /// The same numbers as named arrays; none if there is nothing to show.
    virtual std::vector<NumberArray> numbers() const = 0;
    /// Whether csv() and numbers() have content. Takes no time.
    virtual bool hasNumbers() const = 0;
    /// A figure with the same data, which may be used on another thread.
    virtual std::shared_ptr<const Figure> copy() const = 0;
};

/// Numbers to export. The functions own their data, so that another thread can form long texts and arrays.
struct ExportNumbers {
    std::function<QString()> csv;                       ///< null if there are no numbers
    std::function<std::vector<NumberArray>()> arrays{}; ///< null if there is only a text
};
inline ExportNumbers numbersOf(const Figure& figure) {
    if (!figure.hasNumbers()) return {};
    const std::shared_ptr<const Figure> copy = figure.copy();
    return {.csv = [copy] { return copy->csv(); }, .arrays = [copy] { return copy->numbers(); }};
}

} // namespace attn
