#pragma once

#include "app/scope/follower.h"
#include "app/scope/gui.h"
#include "app/scope/model_subject.h"
#include "app/scope/options.h"
#include "app/scope/page.h"
#include "app/scope/picture_transfer.h"
#include "app/scope/renderer.h"

#include <chrono>
#include <deque>
#include <memory>
#include <optional>

namespace attn::scope {

/// The program: a window that shows one model. Use it on the main thread only.
class Scope {
public:
    /// Opens the window, then the model.
    /// @throws Error if the model cannot be opened or shown
    Scope(const DisplayConnection& display, const Options& options);
    ~Scope();

    /// Draws frames until the window is closed or Options::frames is reached.
    void run();
    /// Handles events and draws one frame.
    /// @return false if nothing was drawn, because the window is minimised or has just been resized
    bool drawFrame();
    /// Like drawFrame, then reads the window back. @return empty if nothing was drawn
    std::optional<Screenshot> drawAndRead();
    bool isRefining() const { return isRefining_; } ///< more frames will improve or move the picture
    bool isRunning() const { return isRunning_; }   ///< generates tokens continuously
    bool wantsToClose() const { return window_.wantsToClose(); }

    Window& window() { return window_; }
    Subject& subject() { return *subject_; }
    /// @throws std::bad_cast if there is no model
    ModelSubject& model() { return dynamic_cast<ModelSubject&>(*subject_); }
    Page& page() { return *page_; }
    gpu::Context& context() { return subject_->context(); }
    /// The device that drives the display: the subject's device or another one.
    gpu::Context& presenter() { return presenter_ ? presenter_->context() : context(); }

private:
    void open(const Options& options);
    /// @param presents whether its device drives the display too
    std::unique_ptr<LanguageModel> openModel(const Options& options, bool presents);
    static DeviceChoice chosenDevice(const Options& options);
    WindowExtensions windowExtensions(bool presents) const;
    std::unique_ptr<Device> openDevice(const Options& options, bool presents) const;
    std::span<const Picture> shownPictures();
    /// attach() creates the objects that draw into the window; detach() destroys them.
    void attach();
    void detach();
    void readKeys();
    void readFollowed();
    /// Applies a message. @throws Error at the first part that fails; the parts before it are applied
    void follow(const MirrorMessage& message);
    void fulfil(const UserRequests& requests);
    void present(bool isPresenting);
    void step();
    /// Makes the widgets of a frame, between Gui::beginFrame and endFrame.
    void compose();
    template <typename Draw> auto frame(const Draw& draw);
    void reportRate(int frames, double seconds) const;

    const DisplayConnection& display_;
    Options options_; ///< the options of the open subject
    std::unique_ptr<Follower> follower_;
    Window window_;
    std::unique_ptr<LanguageModel> model_;
    std::unique_ptr<Subject> subject_;
    std::unique_ptr<Device> presenter_;       ///< null: the subject's device drives the display
    std::optional<PictureTransfer> transfer_; ///< present if there is a presenter
    std::optional<Surface> surface_;
    std::optional<Renderer> renderer_;
    std::optional<Gui> gui_;
    std::optional<Page> page_;
    int framesWanted_ = 0;
    std::string screenshotPath_;
    std::chrono::steady_clock::time_point composed_{}; ///< when the last frame was composed
    std::deque<double> frameMs_;                       ///< times of the last frames, the newest last
    bool isRefining_ = false, isRunning_ = false;
    int surfacesLost_ = 0;  ///< in a row, without a frame between them
    bool isLookNew_ = true; ///< the theme or the text size has changed
};

} // namespace attn::scope
