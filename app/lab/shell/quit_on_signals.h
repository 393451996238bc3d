#pragma once

#include <functional>

class QObject;

namespace attn {

/// Calls a function on the window's thread when the system asks the program to end (SIGINT, SIGTERM, SIGHUP), so that
/// it can save. Signals that the caller ignores, as nohup does, stay ignored. A file that exceeds the limit on the
/// size of files fails to be written, with a message, instead of ending the program (SIGXFSZ).
/// @param context the function is not called after it is destroyed. Call this once in a process
void onQuitSignal(QObject* context, std::function<void()> quit);

} // namespace attn
