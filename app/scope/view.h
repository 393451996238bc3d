#pragma once

#include "app/scope/picture_pipeline.h"

#include <functional>
#include <optional>
#include <span>
#include <string>

namespace attn::scope {

enum class ViewId : uint8_t { Grid, Head, Lens, Tensors, Norms, Timeline, Plan, Device, Shaders };

/// A rectangle in Dear ImGui's units.
struct Area {
    float x = 0, y = 0, width = 0, height = 0;
    bool contains(float atX, float atY) const { return atX >= x && atY >= y && atX < x + width && atY < y + height; }
};

/// How the window is to look.
struct Look {
    bool isPresenting = false; ///< nothing but the picture, large
    bool isLight = false;
    bool liftsFaint = false; ///< colours by the square root of the probability
};

/// What the reader asked for, by key or by button.
struct Wishes {
    int layers = 0, heads = 0; ///< steps
    std::optional<int> layer, head;
    std::optional<ViewId> view;
    int tokens = 0; ///< to write
    bool run = false, reset = false, fit = false, lift = false, theme = false, present = false, fullScreen = false;
    bool open = false, back = false, quit = false;
};

/// One way of looking. The window shows one at a time, between its tools above and a line of facts below.
class View {
public:
    virtual ~View() = default;

    /// Adds its own widgets to the tools.
    virtual void drawTools(Wishes&) {}
    /// Makes the widgets of one frame, between Gui::beginFrame and endFrame. @param wishes what they ask for is added
    virtual void draw(const Area& area, const Look& look, Wishes& wishes) = 0;
    /// Brings what it showed up to date on the device.
    /// @param finishFrame to be called before anything is changed that the last frame may read
    /// @return whether it becomes better with more frames
    virtual bool prepare(const std::function<void()>& finishFrame) = 0;
    /// What lies under the widgets. Valid until the next prepare().
    virtual std::span<const Picture> pictures() const { return {}; }
    virtual std::string facts() const { return {}; }
    virtual void fit() {}                                ///< shows the whole
    virtual bool looksAtHead() const { return false; }   ///< another layer or head shows something else
    virtual bool looksAtTokens() const { return false; } ///< likewise another token
};

/// An area in framebuffer pixels.
PixelRect pixelsOf(const Area& area);

} // namespace attn::scope
