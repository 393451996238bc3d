#pragma once

#include "app/scope/pattern_pipeline.h"
#include "app/scope/shown.h"

#include <optional>
#include <string>

namespace attn::scope {

/// What the reader asked for, by key or by button.
struct Wishes {
    int layers = 0, heads = 0; ///< steps
    std::optional<int> layer, head;
    int tokens = 0; ///< to write
    bool reset = false, fit = false, lift = false, fullScreen = false, quit = false;
};

/// Lays out the window with Dear ImGui: tools above, the pattern with its tokens, a line of facts below.
class Page {
public:
    /// Makes the widgets of one frame, between Gui::beginFrame and endFrame.
    /// @param wishes what the frame's buttons ask for is added
    void draw(Shown& head, double frameMs, Wishes& wishes);

    void fit() { view_.fit(); }
    void toggleLift() { liftsFaint_ = !liftsFaint_; }
    bool liftsFaint() const { return liftsFaint_; }
    const PatternView& view() const { return view_; }
    const std::optional<Cell>& hovered() const { return hovered_; } ///< under the pointer
    /// The pattern as the last draw placed it, without the pattern itself.
    const PatternPicture& picture() const { return picture_; }

private:
    struct Area {
        float x = 0, y = 0, width = 0, height = 0;
    };
    // Each returns its height.
    float drawTools(const Shown& head, Wishes& wishes);
    float drawFacts(const Shown& head, double frameMs) const;
    float drawCaption(const Shown& head, float top) const;
    void placePattern(const Shown& head, const Area& area);
    void handleMouse();
    void drawLabels(const Shown& head) const;
    void drawLegend(float largest);
    void drawHover(Shown& head) const;
    void describePicture(const Shown& head);

    PatternView view_;
    PatternPicture picture_;
    Area plot_, legend_;
    bool labelsStand_ = false; ///< key labels are turned upright
    bool isDragging_ = false;
    bool liftsFaint_ = false;
    std::optional<Cell> hovered_;
};

} // namespace attn::scope
