#include "app/scope/matrix_plot.h"

#include "app/scope/drawing.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

namespace attn::scope {
namespace {

constexpr float kLargestCell = 3;    // em
constexpr float kSmallestHeight = 2; // em, of the whole: a vector is a band
constexpr float kLargestFilling = 4; // em, of a cell's height where cells fill the area

} // namespace

void MatrixPlot::drawLegend(const Look& look) const {
    if (legend_.height <= 0) return;
    const float em = ImGui::GetFontSize();
    ImDrawList& list = *ImGui::GetBackgroundDrawList();
    const ImU32 colour = ImGui::GetColorU32(ImGuiCol_TextDisabled);
    const bool lifts = look.liftsFaint && !picture_.isSigned;
    const float values[] = {picture_.high, picture_.low + (picture_.high - picture_.low) * (lifts ? 0.25f : 0.5f),
                            picture_.low};
    for (int i = 0; i < 3; ++i) {
        const float y =
            legend_.y + legend_.height * static_cast<float>(i) / 2 - em * (0.1f + 0.4f * static_cast<float>(i));
        list.AddText({std::floor(legend_.x + legend_.width + em * 0.35f), std::floor(y)}, colour,
                     fmt::format("{:.3g}", static_cast<double>(values[i])).c_str());
    }
}

void MatrixPlot::drawHover(const Look& look, const Options& options) const {
    if (!hovered()) return;
    const float width = view_.cellSize(), height = view_.cellHeight();
    const ImVec2 corner{view_.left() + static_cast<float>(hovered()->key) * width,
                        view_.top() + static_cast<float>(hovered()->query) * height};
    if (std::min(width, height) >= 4) {
        ImDrawList& list = *ImGui::GetBackgroundDrawList();
        list.PushClipRect({plot_.x, plot_.y}, {plot_.x + plot_.width, plot_.y + plot_.height});
        list.AddRect(corner, {corner.x + width + 1, corner.y + height + 1},
                     look.isLight ? IM_COL32(20, 20, 20, 230) : IM_COL32(255, 255, 255, 230), 0, 0, 1.5f);
        list.PopClipRect();
    }
    const std::string text = options.describe(*hovered());
    ImGui::BeginTooltip();
    ImGui::TextUnformatted(text.c_str(), text.c_str() + text.size());
    ImGui::EndTooltip();
}

void MatrixPlot::describePicture(const Look& look, const Microscope::DeviceTensor& tensor, uint64_t mostBytes) {
    const TensorStatistics& all = tensor.statistics;
    const ImVec2 scale = ImGui::GetIO().DisplayFramebufferScale;
    const auto [first, end] = view_.visibleQueries();
    const auto rowBytes = static_cast<uint64_t>(tensor.rowStride) * sizeof(float);
    const int rows = std::min(end - first, static_cast<int>(std::min<uint64_t>(mostBytes / rowBytes, 1u << 30)));
    const auto columns = static_cast<int>(tensor.shape.columns());
    const float largest = std::max({std::abs(all.minimum), std::abs(all.maximum), 1e-30f});
    picture_ = {.pixels = {.buffer = rows > 0 ? tensor.buffer : VK_NULL_HANDLE,
                           .byteOffset = tensor.byteOffset + static_cast<uint64_t>(first) * rowBytes,
                           .byteSize = static_cast<uint64_t>(std::max(rows, 0)) * rowBytes,
                           .rowStride = static_cast<int>(tensor.rowStride),
                           .rows = rows,
                           .columns = columns,
                           .rowBegin = first,
                           .rowEnd = first + rows,
                           .columnBegin = 0,
                           .columnEnd = columns},
                .plot = pixelsOf(plot_),
                .originX = view_.left() * scale.x,
                .originY = view_.top() * scale.y,
                .cellWidth = view_.cellSize() * scale.x,
                .cellHeight = view_.cellHeight() * scale.y,
                .exponent = look.liftsFaint && !tensor.isSigned() ? 0.5f : 1.0f,
                .low = tensor.isSigned() ? -largest : 0,
                .high = largest,
                .isSigned = tensor.isSigned(),
                .isCausal = false,
                .isLight = look.isLight,
                .legend = pixelsOf(legend_)};
    if (plot_.width < 8 || plot_.height < 8) picture_.plot = picture_.legend = {};
}

void MatrixPlot::draw(const Area& area, const Look& look, const Microscope::DeviceTensor& tensor, uint64_t mostBytes,
                      const Options& options) {
    const float em = ImGui::GetFontSize(), pad = em * 0.75f;
    const bool hasLegend = area.width > em * 14;
    plot_ = {area.x + pad, area.y + pad, area.width - 2 * pad - (hasLegend ? em * 5.5f : 0), area.height - 2 * pad};
    const auto rows = static_cast<int>(tensor.shape.rows()), columns = static_cast<int>(tensor.shape.columns());
    const float width = std::min(plot_.width / static_cast<float>(std::max(columns, 1)), em * kLargestCell);
    float height = width;
    if (options.fills)
        height = std::min(plot_.height / static_cast<float>(std::max(rows, 1)), em * kLargestFilling);
    else if (height * static_cast<float>(rows) < em * kSmallestHeight)
        height = em * kSmallestHeight / static_cast<float>(rows);
    view_.place(plot_.x, plot_.y, std::max(plot_.width, 1.0f), std::max(plot_.height, 1.0f), rows, columns,
                height / std::max(width, 1e-6f), em * kLargestCell);
    const float right = view_.left() + view_.cellSize() * static_cast<float>(columns);
    legend_ = {};
    if (hasLegend && plot_.height >= em * 4)
        legend_ = {std::min(right, plot_.x + plot_.width) + em * 0.9f, std::max(view_.top(), plot_.y), em * 0.8f,
                   std::min(plot_.height, em * 10)};
    if (legend_.y + legend_.height > plot_.y + plot_.height) legend_.y = plot_.y + plot_.height - legend_.height;
    pointer_.handle(view_, plot_);
    describePicture(look, tensor, mostBytes);
    drawLegend(look);
    drawHover(look, options);
}

} // namespace attn::scope
