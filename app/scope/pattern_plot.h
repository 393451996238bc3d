#pragma once

#include "app/scope/matrix_pointer.h"
#include "app/scope/pattern_source.h"
#include "app/scope/subject.h"
#include "app/scope/view.h"

#include <array>
#include <optional>

namespace attn::scope {

/// Plots one head's pattern with its tokens along two sides, using Dear ImGui. Zooms, pans and reads cells.
class PatternPlot {
public:
    /// Makes the widgets of one frame within the area, and handles the mouse there.
    void draw(const Area& area, const Look& look, const Subject& subject, PatternSource& source);
    /// Updates the pixels, as in View::prepare.
    bool prepare(PatternSource& source, const std::function<void()>& finishFrame);
    /// Lights up the rows of the newest tokens.
    void setGlow(int newest, const std::array<float, 4>& glow);

    void fit() { view_.fit(); }
    const PatternView& view() const { return view_; }
    const std::optional<Cell>& hovered() const { return pointer_.hovered(); } ///< under the pointer
    /// The pattern as it was last placed.
    const Picture& picture() const { return picture_; }

private:
    float drawCaption(const Area& area, const Subject& subject) const; ///< @return its height
    void place(const Subject& subject, const Area& area);
    void drawLabels(const Subject& subject) const;
    void drawLegend(float largest) const;
    void drawHover(const Subject& subject, PatternSource& source) const;
    void describePicture(const PatternSource& source);

    PatternView view_;
    Picture picture_;
    Look look_;
    Area plot_, legend_;
    bool labelsStand_ = false; ///< key labels are vertical
    MatrixPointer pointer_;
};

} // namespace attn::scope
