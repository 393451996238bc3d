#pragma once

#include <imgui.h>

#include <string>

namespace attn::scope {

/// The place of a text relative to its point.
enum class TextPlace {
    LeftOf,    ///< ends at the point, centred vertically on it
    Above,     ///< its lower edge is at the point, centred horizontally on it
    StandingOn ///< starts at the point and reads upwards
};

void addText(ImDrawList& list, ImVec2 point, TextPlace place, float fontSize, ImU32 colour, const std::string& text);

/// Whether the window is so small that it shows only the essentials.
bool isSmallPage();

/// Puts the next widget on the current line if this width fits, else on the next line.
/// @return false if the caller should skip the widget, because the page is small and its key is enough
bool flow(float width);
/// A flowing button with a tooltip. @return whether it was clicked
bool toolButton(const char* text, const char* help, bool isOn = false, bool isFirst = false);
/// Shows a tooltip while the pointer rests on the last widget.
void tip(const char* text);

/// Breaks a line into several lines that fit a width. Breaks only at separators.
std::string brokenAt(const std::string& separator, const std::string& line, float width);

/// A readable size: "12.3 MiB", "640 bytes".
std::string bytesText(double bytes);

} // namespace attn::scope
