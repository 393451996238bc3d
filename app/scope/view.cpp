#include "app/scope/view.h"

#include <imgui.h>

#include <cmath>

namespace attn::scope {

PixelRect pixelsOf(const Area& area) {
    const ImVec2 scale = ImGui::GetIO().DisplayFramebufferScale;
    const auto round = [](float value) { return static_cast<int>(std::lround(value)); };
    return {round(area.x * scale.x), round(area.y * scale.y), round(area.width * scale.x),
            round(area.height * scale.y)};
}

} // namespace attn::scope
