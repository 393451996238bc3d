#include "app/scope/matrix_pointer.h"

#include <imgui.h>

#include <cmath>

namespace attn::scope {
namespace {

constexpr float kZoomStep = 1.2f;

} // namespace

void MatrixPointer::handle(PatternView& view, const Area& plot) {
    const ImGuiIO& io = ImGui::GetIO();
    const ImVec2 mouse = io.MousePos;
    const bool isInside = !io.WantCaptureMouse && plot.contains(mouse.x, mouse.y);
    if (isInside && io.MouseWheel != 0) view.zoom(std::pow(kZoomStep, io.MouseWheel), mouse.x, mouse.y);
    if (isInside && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) isDragging_ = true;
    if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) isDragging_ = false;
    if (isDragging_) view.pan(io.MouseDelta.x, io.MouseDelta.y);
    const bool isMoving = isDragging_ && (io.MouseDelta.x != 0 || io.MouseDelta.y != 0);
    hovered_ = isInside && !isMoving ? view.cellAt(mouse.x, mouse.y) : std::nullopt;
}

} // namespace attn::scope
