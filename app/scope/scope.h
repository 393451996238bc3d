#pragma once

#include "app/scope/gui.h"
#include "app/scope/options.h"
#include "app/scope/page.h"
#include "app/scope/renderer.h"
#include "app/scope/shown_head.h"

#include <memory>
#include <optional>

namespace attn::scope {

/// The program: a window on one model. Main thread only.
class Scope {
public:
    /// Opens the window, then the model.
    /// @throws Error if the model cannot be opened or shown
    Scope(const DisplayConnection& display, const Options& options);
    ~Scope();

    /// Draws until the window is closed, or as many frames as the options say.
    void run();
    /// Handles what happened and draws one frame. @return false if nothing was drawn: minimised, or resized just now
    bool drawFrame();
    /// As drawFrame, and reads the window back; empty if nothing was drawn.
    std::optional<Screenshot> drawAndRead();
    bool isRefining() const { return isRefining_; }
    bool wantsToClose() const { return window_.wantsToClose(); }

    Window& window() { return window_; }
    const Shown& shown() const { return *shown_; }
    /// Of a model. @throws std::bad_cast where there is none
    const ShownHead& head() const { return dynamic_cast<const ShownHead&>(*shown_); }
    const Page& page() const { return page_; }
    gpu::Context& context() { return *context_; }

private:
    void openLens(const DisplayConnection& display, const Options& options);
    void openModel(const DisplayConnection& display, const Options& options);
    void readKeys();
    void fulfil(const Wishes& wishes);
    /// What the frame shows, made between Gui::beginFrame and endFrame.
    PatternPicture compose();
    template <typename Draw> auto frame(const Draw& draw);

    Window window_;
    std::unique_ptr<LanguageModel> model_;
    std::unique_ptr<Shown> shown_;
    gpu::Context* context_ = nullptr; ///< the model's, or the lens's own
    std::optional<Surface> surface_;
    std::optional<Renderer> renderer_;
    std::optional<Gui> gui_;
    Page page_;
    int framesWanted_ = 0;
    std::string screenshotPath_;
    double frameMs_ = 0;
    bool isRefining_ = false; ///< the picture becomes better with more frames
};

} // namespace attn::scope
