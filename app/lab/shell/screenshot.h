#pragma once

#include <QString>

namespace attn {

class MainWindow;
class Workbench;
struct Snapshot;

/// Whether there is all that the window will show by itself: a model without an example waits for a prompt or a
/// picture, and not every workspace shows heads.
bool hasPicture(const Snapshot& snapshot, const Workbench& bench);

/// Waits until the model is open and idle, writes the window as a PNG and quits. If opening fails or takes more than a
/// minute, prints the failure on stderr and quits with exit code 1.
void takeScreenshotAndQuit(MainWindow& window, const QString& path);

} // namespace attn
