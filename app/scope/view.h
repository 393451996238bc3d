#pragma once

#include "app/scope/picture_pipeline.h"

#include <functional>
#include <optional>
#include <span>
#include <string>

namespace attn::scope {

enum class ViewId : uint8_t { Grid, Head, LongPattern, Tensors, Norms, Timeline, Plan, Device, Shaders };

/// A rectangle in Dear ImGui's units.
struct Area {
    float x = 0, y = 0, width = 0, height = 0;
    bool contains(float atX, float atY) const { return atX >= x && atY >= y && atX < x + width && atY < y + height; }
};

/// The display settings of the window.
struct Look {
    bool isPresenting = false; ///< shows only the figure, with large text
    bool isLight = false;
    bool liftsFaint = false; ///< colours by the square root of the attention weight
};

/// The requests of a reader, by keys or by buttons.
struct UserRequests {
    int sites = 0, heads = 0; ///< steps
    std::optional<int> site, head;
    std::optional<ViewId> view;
    int tokens = 0; ///< to write
    bool run = false, reset = false, fit = false, lift = false, theme = false, present = false, fullScreen = false;
    bool open = false, back = false, quit = false;
};

/// One view of the subject. The window shows one view at a time, between the tools and the status line.
class View {
public:
    virtual ~View() = default;

    /// Adds the view's own widgets to the tools.
    virtual void drawTools(UserRequests&) {}
    /// Makes the widgets of one frame, between Gui::beginFrame and endFrame. @param requests receives what they ask for
    virtual void draw(const Area& area, const Look& look, UserRequests& requests) = 0;
    /// Updates the view's data on the device.
    /// @param finishFrame must be called before changing anything that the last frame may read
    /// @return whether more frames will improve the view
    virtual bool prepare(const std::function<void()>& finishFrame) = 0;
    /// The pictures under the widgets. Valid until the next prepare().
    virtual std::span<const Picture> pictures() const { return {}; }
    virtual std::string facts() const { return {}; }
    virtual void fit() {}                                ///< shows the whole matrix
    virtual bool looksAtHead() const { return false; }   ///< depends on the selected layer and head
    virtual bool looksAtTokens() const { return false; } ///< depends on the tokens
};

/// Converts an area to framebuffer pixels.
PixelRect pixelsOf(const Area& area);

} // namespace attn::scope
