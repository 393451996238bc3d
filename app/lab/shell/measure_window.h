#pragma once

namespace attn {

class MainWindow;

/// Uses the window with keys and clicks as a person would, prints on standard output how long it takes to answer, and
/// quits. Measured are the first openings of what makes the device work; then keys in the prompt, clicks on thumbnails
/// and steps of the text size, each with its median and its longest time.
/// @pre the first picture is on screen
void measureAndQuit(MainWindow& window);

} // namespace attn
