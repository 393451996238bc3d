#pragma once

#include "app/lab/panels/start_panel.h"
#include "app/lab/shell/window_parts.h"

#include <memory>

namespace attn {

class FileController;
class LessonController;
class SessionController;

/// The start page: its tours and what it offers, and the greeting of the very first start.
class StartController : public QObject {
    Q_OBJECT

public:
    StartController(const WindowParts& parts, SessionController& session, FileController& files,
                    LessonController& lessons);

    void offer(); ///< tells the page what can be continued
    void greet(); ///< once, for ever

private:
    void take(StartPanel::Tour tour);
    void enter(const char* workspace, const char* level);
    /// Says what a tour shows, while its workspace and its level are on screen.
    void tell(const QString& text, int before); ///< @param before as in Notices::offerOfStep

    WindowParts parts_;
    SessionController& session_;
    LessonController& lessons_;
    StartPanel& page_;
    std::unique_ptr<QObject> told_; ///< watches whether the last tour is left
};

} // namespace attn
