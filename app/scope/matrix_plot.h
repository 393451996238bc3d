#pragma once

#include "app/scope/matrix_pointer.h"
#include "app/scope/microscope.h"
#include "app/scope/pattern_view.h"
#include "app/scope/view.h"

#include <functional>
#include <optional>
#include <string>

namespace attn::scope {

/// Plots a tensor on the device with a colour bar. Zooms, pans and reads values. Signed tensors have diverging colours.
class MatrixPlot {
public:
    struct Options {
        bool fills = false;                                    ///< cells as high as the area allows instead of square
        std::function<std::string(const Cell& cell)> describe; ///< text for the cell under the pointer, with its value
    };
    /// Makes the widgets of one frame within the area, and handles the mouse there.
    /// @param mostBytes the limit for one binding; of a larger tensor, only the first visible rows are shown
    void draw(const Area& area, const Look& look, const Microscope::DeviceTensor& tensor, uint64_t mostBytes,
              const Options& options);

    void fit() { view_.fit(); }
    const PatternView& view() const { return view_; }
    const std::optional<Cell>& hovered() const { return pointer_.hovered(); }
    const Picture& picture() const { return picture_; }
    /// The part of the area that the matrix may use. Labels go beside it.
    const Area& plot() const { return plot_; }

private:
    void drawLegend(const Look& look) const;
    void drawHover(const Look& look, const Options& options) const;
    void describePicture(const Look& look, const Microscope::DeviceTensor& tensor, uint64_t mostBytes);

    PatternView view_;
    Picture picture_;
    Area plot_, legend_;
    MatrixPointer pointer_;
};

} // namespace attn::scope
