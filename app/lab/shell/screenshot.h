#pragma once

#include <QString>

#include <functional>

namespace attn {

class MainWindow;

/// Calls `then` once, after the first snapshot with attention patterns has been painted.
void onFirstPicture(MainWindow& window, std::function<void()> then);

/// Waits until the model is open and idle, writes the window as a PNG and quits. If opening fails or takes more than a
/// minute, prints the failure on stderr and quits with exit code 1.
void takeScreenshotAndQuit(MainWindow& window, const QString& path);

} // namespace attn
