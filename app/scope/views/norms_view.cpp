#include "app/scope/views/norms_view.h"

#include "app/scope/drawing.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

namespace attn::scope {
namespace {

constexpr float kSmallestLabel = 0.65f; // em

std::string rowName(int row) { return row == 0 ? std::string("embedding") : fmt::format("after layer {}", row - 1); }

} // namespace

void NormsView::draw(const Area& area, const Look& look, UserRequests&) {
    if (!shown_) return;
    const float em = ImGui::GetFontSize();
    ImDrawList& list = *ImGui::GetBackgroundDrawList();
    const auto tokens = static_cast<int>(shown_->shape.columns()), rows = static_cast<int>(shown_->shape.rows());
    Area inner = area;
    if (!look.isPresenting) {
        list.AddText({area.x + em * 0.75f, area.y + em * 0.5f}, ImGui::GetColorU32(ImGuiCol_Text),
                     area.width > 46 * em
                         ? "Euclidean norm of the residual stream: one row per layer, one column per token"
                         : "Norms of the residual stream, layer by token");
        inner.y += em * 1.5f;
        inner.height -= em * 1.5f;
    }
    float left = em * 2.5f, bottom = 0;
    for (int row = 0; row < rows; ++row) left = std::max(left, ImGui::CalcTextSize(rowName(row).c_str()).x + em * 0.6f);
    const float cell = (inner.width - left - 7 * em) / static_cast<float>(std::max(tokens, 1));
    const bool hasLabels = cell >= em * kSmallestLabel && area.height > 20 * em;
    if (hasLabels)
        for (const std::string& label : subject_.labels())
            bottom = std::clamp(ImGui::CalcTextSize(label.c_str()).x + em * 0.5f, bottom, em * 8);
    inner = {inner.x + left, inner.y, inner.width - left, inner.height - bottom};
    plot_.draw(inner, look, *shown_, subject_.context().traits().maxStorageBufferRange,
               {.fills = true, .describe = [this](const Cell& at) {
                    return fmt::format("{}, token {} “{}”\nnorm {:.4g}", rowName(at.query), at.key,
                                       subject_.labels()[static_cast<size_t>(at.key)],
                                       static_cast<double>(norm(at.query, at.key)));
                }});
    isPlaced_ = true;
    const PatternView& view = plot_.view();
    const auto& hovered = plot_.hovered();
    const auto colour = [&](bool isMarked) {
        return ImGui::GetColorU32(isMarked ? ImGuiCol_Text : ImGuiCol_TextDisabled);
    };
    list.PushClipRect({area.x, plot_.plot().y}, {area.x + area.width, plot_.plot().y + plot_.plot().height});
    for (int row = 0; row < rows; ++row)
        if (view.cellHeight() >= em * 0.9f)
            addText(list,
                    {std::max(view.left(), plot_.plot().x) - em * 0.4f,
                     view.top() + (static_cast<float>(row) + 0.5f) * view.cellHeight()},
                    TextPlace::LeftOf, em, colour(hovered && hovered->query == row), rowName(row));
    list.PopClipRect();
    if (!hasLabels) return;
    const float foot =
        std::min(view.top() + view.cellHeight() * static_cast<float>(rows), plot_.plot().y + plot_.plot().height) +
        em * 0.3f;
    list.PushClipRect({plot_.plot().x, foot}, {plot_.plot().x + plot_.plot().width, area.y + area.height});
    const auto [first, end] = view.visibleKeys();
    const float size = std::min(view.cellSize(), em);
    for (int token = first; token < end; ++token) {
        const std::string& label = subject_.labels()[static_cast<size_t>(token)];
        const float length = ImGui::CalcTextSize(label.c_str()).x * size / em;
        addText(list, {view.left() + (static_cast<float>(token) + 0.5f) * view.cellSize(), foot + length},
                TextPlace::StandingOn, size, colour(hovered && hovered->key == token), label);
    }
    list.PopClipRect();
}

bool NormsView::prepare(const std::function<void()>& finishFrame) {
    if (shown_ && version_ == subject_.version()) return false;
    finishFrame();
    shown_ = subject_.microscope().residualNorms();
    version_ = subject_.version();
    isPlaced_ = false;
    return true; // visible in the next frame
}

float NormsView::norm(int row, int token) const { return subject_.microscope().residualNorm(row, token); }

std::unique_ptr<View> makeNormsView(Subject& subject) { return std::make_unique<NormsView>(*subject.model()); }

} // namespace attn::scope
