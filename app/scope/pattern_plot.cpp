#include "app/scope/pattern_plot.h"

#include "app/scope/drawing.h"
#include "engine/models/head_name.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

namespace attn::scope {
namespace {

constexpr float kLargestCell = 4;       // em, of a fitted pattern
constexpr float kSmallestLabel = 0.65f; // em: labels shrink with their cells to this size, then disappear

float widestLabel(const std::vector<std::string>& labels, float most) {
    constexpr size_t kMany = 4096; // with this many tokens, labels are numbers, and the last one is the widest
    if (labels.size() > kMany) return std::min(most, ImGui::CalcTextSize(labels.back().c_str()).x);
    float widest = 0;
    for (const std::string& label : labels) {
        widest = std::max(widest, ImGui::CalcTextSize(label.c_str()).x);
        if (widest >= most) return most;
    }
    return widest;
}

} // namespace

float PatternPlot::drawCaption(const Area& area, const Subject& subject) const {
    if (look_.isPresenting || isSmallPage()) return 0;
    const float em = ImGui::GetFontSize();
    const std::string place = headName(subject.layer(), subject.head()) + ": ";
    std::string text = place + "each row is a query, each column is a key that it attends to";
    if (ImGui::CalcTextSize(text.c_str()).x > area.width - 1.5f * em) text = place + "rows query, columns key";
    ImGui::GetBackgroundDrawList()->AddText({area.x + em * 0.75f, area.y + em * 0.5f},
                                            ImGui::GetColorU32(ImGuiCol_Text), text.c_str());
    return em * 1.5f;
}

void PatternPlot::place(const Subject& subject, const Area& area) {
    const float em = ImGui::GetFontSize(), gap = em * 0.4f, pad = em * 0.75f;
    const bool hasLegend = area.width > em * 24;
    const float legendWidth = hasLegend ? em * 3.5f : 0;
    float labels = 0;
    const auto placeAt = [&](float labelHeight) {
        plot_ = {.x = area.x + pad + labels + gap, .y = area.y + pad + labelHeight + gap};
        plot_.width = area.x + area.width - pad - legendWidth - plot_.x;
        plot_.height = area.y + area.height - pad - plot_.y;
        view_.place(plot_.x, plot_.y, plot_.width, plot_.height, subject.tokenCount(), em * kLargestCell);
    };
    placeAt(0);
    if (view_.cellSize() >= em * kSmallestLabel) { // key labels are horizontal if they fit their cells
        labels = widestLabel(subject.labels(), std::min(area.width, area.height) / 4);
        placeAt(em);
        const float cell = view_.cellSize();
        labelsStand_ = labels * std::min(cell / em, 1.0f) + em * 0.1f > cell;
        if (labelsStand_) placeAt(labels);
    }
    legend_ = {};
    if (!hasLegend || plot_.height < em * 4) return;
    const float right = view_.left() + view_.cellSize() * static_cast<float>(subject.tokenCount());
    legend_ = {std::min(right, plot_.x + plot_.width) + em * 0.9f, std::max(view_.top(), plot_.y), em * 0.8f,
               std::min(plot_.height, em * 10)};
}

void PatternPlot::drawLabels(const Subject& subject) const {
    const float em = ImGui::GetFontSize(), gap = em * 0.4f, cell = view_.cellSize();
    if (cell < em * kSmallestLabel) return;
    ImDrawList& list = *ImGui::GetBackgroundDrawList();
    const float fontSize = std::min(cell, em);
    const auto colour = [&](bool isMarked) {
        return ImGui::GetColorU32(isMarked ? ImGuiCol_Text : ImGuiCol_TextDisabled);
    };
    const float left = std::max(view_.left(), plot_.x) - gap, top = std::max(view_.top(), plot_.y) - gap;
    list.PushClipRect({0, plot_.y}, {left + gap, plot_.y + plot_.height});
    const auto [firstQuery, endQuery] = view_.visibleQueries();
    for (int query = firstQuery; query < endQuery; ++query)
        addText(list, {left, view_.top() + (static_cast<float>(query) + 0.5f) * cell}, TextPlace::LeftOf, fontSize,
                colour(hovered() && hovered()->query == query), subject.labels()[static_cast<size_t>(query)]);
    list.PopClipRect();
    list.PushClipRect({plot_.x, 0}, {plot_.x + plot_.width, top + gap});
    const auto [firstKey, endKey] = view_.visibleKeys();
    for (int key = firstKey; key < endKey; ++key)
        addText(list, {view_.left() + (static_cast<float>(key) + 0.5f) * cell, top},
                labelsStand_ ? TextPlace::StandingOn : TextPlace::Above, fontSize,
                colour(hovered() && hovered()->key == key), subject.labels()[static_cast<size_t>(key)]);
    list.PopClipRect();
}

void PatternPlot::drawLegend(float largest) const {
    if (legend_.height <= 0) return;
    const float em = ImGui::GetFontSize();
    ImDrawList& list = *ImGui::GetBackgroundDrawList();
    const ImU32 colour = ImGui::GetColorU32(ImGuiCol_TextDisabled);
    const auto mark = [](float value) { return fmt::format("{:.2g}", static_cast<double>(value)); };
    const std::string marks[] = {(largest < 1 ? "≥ " : "") + mark(largest),
                                 mark(largest * (look_.liftsFaint ? 0.25f : 0.5f)), "0"};
    for (int i = 0; i < 3; ++i) {
        const float y =
            legend_.y + legend_.height * static_cast<float>(i) / 2 - em * (0.1f + 0.4f * static_cast<float>(i));
        list.AddText({std::floor(legend_.x + legend_.width + em * 0.35f), std::floor(y)}, colour, marks[i].c_str());
    }
}

void PatternPlot::drawHover(const Subject& subject, PatternSource& source) const {
    if (!hovered()) return;
    const float cell = view_.cellSize();
    const ImVec2 corner{view_.left() + static_cast<float>(hovered()->key) * cell,
                        view_.top() + static_cast<float>(hovered()->query) * cell};
    if (cell >= 4) {
        ImDrawList& list = *ImGui::GetBackgroundDrawList();
        list.PushClipRect({plot_.x, plot_.y}, {plot_.x + plot_.width, plot_.y + plot_.height});
        list.AddRect(corner, {corner.x + cell + 1, corner.y + cell + 1},
                     look_.isLight ? IM_COL32(20, 20, 20, 230) : IM_COL32(255, 255, 255, 230), 0, 0, 1.5f);
        list.PopClipRect();
    }
    const auto labelOf = [&](int index) { return subject.labels()[static_cast<size_t>(index)]; };
    std::string text = fmt::format("query {}  “{}”\nkey {}  “{}”\n", hovered()->query, labelOf(hovered()->query),
                                   hovered()->key, labelOf(hovered()->key));
    if (source.isMasked(*hovered()))
        text += hovered()->key > hovered()->query ? "masked: the key comes later"
                                                  : fmt::format("masked: the window has {} keys", source.window());
    else
        text += fmt::format("weight {:.4f}", source.probability(*hovered()));
    ImGui::BeginTooltip();
    ImGui::TextUnformatted(text.c_str(), text.c_str() + text.size());
    ImGui::EndTooltip();
}

void PatternPlot::describePicture(const PatternSource& source) {
    const ImVec2 scale = ImGui::GetIO().DisplayFramebufferScale;
    picture_.plot = pixelsOf(plot_);
    picture_.originX = view_.left() * scale.x;
    picture_.originY = view_.top() * scale.y;
    picture_.cellWidth = view_.cellSize() * scale.x;
    picture_.cellHeight = view_.cellSize() * scale.y;
    picture_.exponent = look_.liftsFaint ? 0.5f : 1.0f;
    picture_.high = source.largest();
    picture_.isCausal = source.isCausal();
    picture_.window = source.window();
    picture_.isLight = look_.isLight;
    picture_.legend = pixelsOf(legend_);
    // The plot must lie within the window, which may be too small for its margins.
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    if (plot_.width < 8 || plot_.height < 8 || plot_.x + plot_.width > display.x || plot_.y + plot_.height > display.y)
        picture_.plot = picture_.legend = {};
}

void PatternPlot::setGlow(int newest, const std::array<float, 4>& glow) {
    picture_.newest = newest;
    picture_.glow = glow;
}

bool PatternPlot::prepare(PatternSource& source, const std::function<void()>& finishFrame) {
    const auto queries = view_.visibleQueries(), keys = view_.visibleKeys();
    const float cellPixels = picture_.cellWidth;
    if (source.isReady(queries, keys, cellPixels)) return false;
    finishFrame();
    picture_.pixels = source.pixels(queries, keys, cellPixels);
    return !source.isReady(queries, keys, cellPixels);
}

void PatternPlot::draw(const Area& area, const Look& look, const Subject& subject, PatternSource& source) {
    look_ = look;
    const float caption = drawCaption(area, subject);
    place(subject, {area.x, area.y + caption, area.width, area.height - caption});
    pointer_.handle(view_, plot_);
    drawLabels(subject);
    drawLegend(source.largest());
    drawHover(subject, source);
    describePicture(source);
}

} // namespace attn::scope
