#pragma once

#include <imgui.h>

#include <string>

namespace attn::scope {

/// Where text stands to its point.
enum class TextPlace {
    LeftOf,    ///< ends there, the point at half its height
    Above,     ///< its lower edge there, the point at half its width
    StandingOn ///< turned a quarter to the left: begins there and reads upwards
};

void addText(ImDrawList& list, ImVec2 point, TextPlace place, float fontSize, ImU32 colour, const std::string& text);

/// Whether the window is so low that it keeps to the essentials.
bool isSmallPage();

/// Puts the next widget of this width on the same line while there is room.
/// @return false if it should be left out: the page is small and its keys will do
bool flow(float width);
/// A button that flows, with a tooltip. @return whether it was pressed
bool toolButton(const char* text, const char* help, bool isOn = false, bool isFirst = false);
/// What the last widget is for, while the pointer rests on it.
void tip(const char* text);

/// A line of parts as several lines no longer than a width, broken between parts only.
std::string brokenAt(const std::string& separator, const std::string& line, float width);

/// "12.3 MiB", "640 bytes".
std::string bytesText(double bytes);

} // namespace attn::scope
