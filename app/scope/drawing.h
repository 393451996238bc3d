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

} // namespace attn::scope
