#pragma once

#include "app/scope/subject.h"
#include "app/scope/view.h"
#include "app/scope/views/catalogue.h"

#include <map>
#include <memory>
#include <string>

namespace attn::scope {

/// Lays out the window with Dear ImGui: tabs and tools at the top, a view, and a line of facts at the bottom.
class Page {
public:
    Page(Subject& subject, ViewId view) : subject_(subject), shown_(view) {}

    /// Makes the widgets of one frame, between Gui::beginFrame and endFrame.
    /// @param requests what the frame's buttons ask for is added
    void draw(double frameMs, bool isRunning, UserRequests& requests);
    /// Like View::prepare, but turns a view's errors into the subject's notice. @throws gpu::DeviceLost
    bool prepare(const std::function<void()>& finishFrame);
    std::span<const Picture> pictures() const;

    void show(ViewId view) { shown_ = view; }
    ViewId shown() const { return shown_; }
    /// The current view; null if it cannot show this subject.
    View* view();
    void fit();
    Look& look() { return look_; }
    const Look& look() const { return look_; }

private:
    // Each of these returns its height.
    float drawTools(bool isRunning, UserRequests& requests);
    float drawFacts(double frameMs);
    void drawRefusal(const Area& area) const;

    Subject& subject_;
    ViewId shown_;
    Look look_;
    std::map<ViewId, std::unique_ptr<View>> views_;
    std::map<ViewId, std::string> refusals_; ///< reasons why a view could not be made or failed
};

} // namespace attn::scope
