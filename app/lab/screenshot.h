#pragma once

#include <QString>

#include <functional>

namespace attn {

class MainWindow;

/// Calls once, after the first snapshot with attention patterns has been painted.
void onFirstPicture(MainWindow& window, std::function<void()> then);

/// Waits for the model to be open and at rest, writes the window as a PNG and quits; quits with 1 and the failure's
/// sentence on stderr if opening fails or takes more than a minute.
void takeScreenshotAndQuit(MainWindow& window, const QString& path);

} // namespace attn
