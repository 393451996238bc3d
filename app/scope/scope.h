#pragma once

#include "app/scope/follower.h"
#include "app/scope/gui.h"
#include "app/scope/model_subject.h"
#include "app/scope/options.h"
#include "app/scope/page.h"
#include "app/scope/picture_transfer.h"
#include "app/scope/renderer.h"

#include <deque>
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
    bool isRefining() const { return isRefining_; } ///< the picture becomes better, or moves, with more frames
    bool isRunning() const { return isRunning_; }   ///< writes token after token
    bool wantsToClose() const { return window_.wantsToClose(); }

    Window& window() { return window_; }
    Subject& subject() { return *subject_; }
    /// @throws std::bad_cast where there is no model
    ModelSubject& model() { return dynamic_cast<ModelSubject&>(*subject_); }
    Page& page() { return *page_; }
    gpu::Context& context() { return subject_->context(); }
    /// The device that shows the pictures: that of the subject, or another one.
    gpu::Context& presenter() { return presenter_ ? *presenter_ : context(); }

private:
    void open(const Options& options);
    /// @param presents whether its device shows the pictures too
    std::unique_ptr<LanguageModel> openModel(const Options& options, bool presents);
    gpu::Context::Options deviceOptions(const Options& options, bool presents) const;
    std::span<const Picture> shownPictures();
    /// Makes what draws into the window, and ends it.
    void attach();
    void detach();
    void readKeys();
    void readFollowed();
    /// Shows what a message asks for. @throws Error where it cannot: what it asked before that shows
    void follow(const MirrorMessage& message);
    void fulfil(const Wishes& wishes);
    void present(bool isPresenting);
    void step();
    /// What the frame shows, made between Gui::beginFrame and endFrame.
    void compose();
    template <typename Draw> auto frame(const Draw& draw);
    void reportRate(int frames, double seconds) const;

    const DisplayConnection& display_;
    Options options_; ///< what the subject was opened with
    std::unique_ptr<Follower> follower_;
    Window window_;
    std::unique_ptr<LanguageModel> model_;
    std::unique_ptr<Subject> subject_;
    std::unique_ptr<gpu::Context> presenter_; ///< null: the subject's
    std::optional<PictureTransfer> transfer_; ///< where there is a presenter
    std::optional<Surface> surface_;
    std::optional<Renderer> renderer_;
    std::optional<Gui> gui_;
    std::optional<Page> page_;
    int framesWanted_ = 0;
    std::string screenshotPath_;
    std::deque<double> frameMs_; ///< of the last frames, the newest last
    bool isRefining_ = false, isRunning_ = false;
    int surfacesLost_ = 0;  ///< one after another, without a frame between them
    bool isLookNew_ = true; ///< the theme or the size of type has changed
};

} // namespace attn::scope
