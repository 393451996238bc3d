#pragma once

#include "app/scope/matrix_pointer.h"
#include "app/scope/pattern_view.h"
#include "app/scope/view.h"
#include "engine/session/microscope.h"

#include <functional>
#include <optional>
#include <string>

namespace attn::scope {

/// A tensor on the device as a picture with a bar of its colours: zooms, pans, reads values. Signed ones in colours
/// that part at zero.
class MatrixPlot {
public:
    struct Options {
        bool fills = false;                                    ///< cells as high as the area allows rather than square
        std::function<std::string(const Cell& cell)> describe; ///< what the pointer is on, with its value
    };
    /// Makes the widgets of one frame within the area, and handles the mouse there.
    /// @param mostBytes that may be bound at a time: of a larger tensor the first visible rows show
    void draw(const Area& area, const Look& look, const Microscope::DeviceTensor& tensor, uint64_t mostBytes,
              const Options& options);

    void fit() { view_.fit(); }
    const PatternView& view() const { return view_; }
    const std::optional<Cell>& hovered() const { return pointer_.hovered(); }
    const Picture& picture() const { return picture_; }
    /// The part of the area that the matrix may use; for labels beside it.
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
