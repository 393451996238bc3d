#include "app/scope/drawing.h"

#include <cfloat>
#include <cmath>

namespace attn::scope {
namespace {

/// Writes the text flat to the right of its foot, then turns every corner about the foot.
void addStanding(ImDrawList& list, ImVec2 foot, float fontSize, ImU32 colour, const std::string& text) {
    constexpr float kFar = 1e4f;
    const int first = list.VtxBuffer.Size;
    // What is clipped now is not what shows once it is turned.
    list.PushClipRect({foot.x - kFar, foot.y - kFar}, {foot.x + kFar, foot.y + kFar}, false);
    list.AddText(ImGui::GetFont(), fontSize, {foot.x, foot.y - std::floor(fontSize / 2)}, colour, text.c_str());
    list.PopClipRect();
    for (int i = first; i < list.VtxBuffer.Size; ++i) {
        ImVec2& corner = list.VtxBuffer[i].pos;
        corner = {foot.x + (corner.y - foot.y), foot.y - (corner.x - foot.x)};
    }
}

} // namespace

void addText(ImDrawList& list, ImVec2 point, TextPlace place, float fontSize, ImU32 colour, const std::string& text) {
    // Glyphs are sharp on whole pixels only.
    if (place == TextPlace::StandingOn)
        return addStanding(list, {std::floor(point.x), std::floor(point.y)}, fontSize, colour, text);
    const ImVec2 size = ImGui::GetFont()->CalcTextSizeA(fontSize, FLT_MAX, 0, text.c_str());
    const ImVec2 corner = place == TextPlace::LeftOf ? ImVec2{point.x - size.x, point.y - size.y / 2}
                                                     : ImVec2{point.x - size.x / 2, point.y - size.y};
    list.AddText(ImGui::GetFont(), fontSize, {std::floor(corner.x), std::floor(corner.y)}, colour, text.c_str());
}

} // namespace attn::scope
