#pragma once

class QMainWindow;

namespace attn {

class DockLayout;
class LockController;
class Notices;
class PanelDocks;
class SessionBridge;
class Workbench;

/// What the controllers of the main window share. It outlives them.
struct WindowParts {
    QMainWindow& window; ///< parent of dialogs
    Workbench& bench;
    SessionBridge& bridge;
    PanelDocks& panels;
    DockLayout& layout;
    LockController& locks;
    Notices& notices;
};

} // namespace attn
