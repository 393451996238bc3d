#include "app/scope/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace attn::scope {
namespace {

/// Writes the text horizontally from its start, then turns every corner about the start.
void addStanding(ImDrawList& list, ImVec2 foot, float fontSize, ImU32 colour, const std::string& text) {
    constexpr float kFar = 1e4f;
    const int first = list.VtxBuffer.Size;
    // Clipping before the turn would cut the wrong parts.
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

bool isSmallPage() {
    constexpr float kSmallPage = 24; // em
    return ImGui::GetIO().DisplaySize.y < kSmallPage * ImGui::GetFontSize();
}

bool flow(float width) {
    const float left = ImGui::GetItemRectMax().x + ImGui::GetStyle().ItemSpacing.x;
    const bool fits =
        left + width <= ImGui::GetWindowPos().x + ImGui::GetWindowSize().x - ImGui::GetStyle().WindowPadding.x;
    if (fits) ImGui::SameLine();
    return fits || !isSmallPage();
}

bool toolButton(const char* text, const char* help, bool isOn, bool isFirst) {
    if (!isFirst && !flow(ImGui::CalcTextSize(text).x + 2 * ImGui::GetStyle().FramePadding.x)) return false;
    if (isOn) ImGui::PushStyleColor(ImGuiCol_Button, ImGui::GetStyleColorVec4(ImGuiCol_SliderGrab));
    const bool isPressed = ImGui::Button(text);
    if (isOn) ImGui::PopStyleColor();
    tip(help);
    return isPressed;
}

void tip(const char* text) {
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) ImGui::SetTooltip("%s", text);
}

std::string brokenAt(const std::string& separator, const std::string& line, float width) {
    std::string broken;
    size_t lineBegin = 0;
    for (size_t at = 0; at <= line.size();) {
        const size_t end = std::min(line.find(separator, at), line.size());
        const std::string part = line.substr(at, end - at);
        if (at > 0) {
            const std::string longer = broken.substr(lineBegin) + separator + part;
            const bool fits = ImGui::CalcTextSize(longer.c_str()).x <= width;
            broken += fits ? separator : "\n";
            if (!fits) lineBegin = broken.size();
        }
        broken += part;
        at = end + separator.size();
    }
    return broken;
}

std::string bytesText(double bytes) {
    constexpr double kStep = 1024;
    if (bytes < kStep) return fmt::format("{:.0f} bytes", bytes);
    if (bytes < kStep * kStep) return fmt::format("{:.1f} KiB", bytes / kStep);
    if (bytes < kStep * kStep * kStep) return fmt::format("{:.1f} MiB", bytes / (kStep * kStep));
    return fmt::format("{:.2f} GiB", bytes / (kStep * kStep * kStep));
}

} // namespace attn::scope
