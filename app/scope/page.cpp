#include "app/scope/page.h"

#include "app/scope/drawing.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

namespace attn::scope {
namespace {

constexpr ImGuiWindowFlags kBar =
    ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav;
constexpr float kLargestCell = 4;       // em, of a fitted pattern
constexpr float kSmallestLabel = 0.65f; // em: labels shrink with their cells to this size, then go
constexpr float kSmallPage = 24;        // em: lower windows keep to the essentials
constexpr float kZoomStep = 1.2f;

bool isSmallPage() { return ImGui::GetIO().DisplaySize.y < kSmallPage * ImGui::GetFontSize(); }

/// Puts the next widget of this width on the same line while there is room.
/// @return false if it should be left out: the page is small and its keys will do
bool flow(float width) {
    const float left = ImGui::GetItemRectMax().x + ImGui::GetStyle().ItemSpacing.x;
    const bool fits =
        left + width <= ImGui::GetWindowPos().x + ImGui::GetWindowSize().x - ImGui::GetStyle().WindowPadding.x;
    if (fits) ImGui::SameLine();
    return fits || !isSmallPage();
}

float buttonWidth(const char* text) { return ImGui::CalcTextSize(text).x + 2 * ImGui::GetStyle().FramePadding.x; }

void tip(const char* text) {
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) ImGui::SetTooltip("%s", text);
}

bool button(const char* text, const char* help) {
    if (!flow(buttonWidth(text))) return false;
    const bool isPressed = ImGui::Button(text);
    tip(help);
    return isPressed;
}

float chooserWidth() { return ImGui::GetFontSize() * 7; }

/// A slider from 0 to count - 1; dead when there is nothing to choose.
void choose(const char* id, const char* format, const char* help, int shown, int count, std::optional<int>& wish) {
    ImGui::SetNextItemWidth(chooserWidth());
    ImGui::BeginDisabled(count < 2);
    int value = shown;
    if (ImGui::SliderInt(id, &value, 0, std::max(count - 1, 1), format) && value != shown) wish = value;
    ImGui::EndDisabled();
    tip(help);
}

/// Moves to the top or bottom edge, as wide as the window.
void beginBar(const char* name, float y, float pivot) {
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    ImGui::SetNextWindowPos({0, y}, ImGuiCond_Always, {0, pivot});
    ImGui::SetNextWindowSizeConstraints({display.x, 0}, {display.x, display.y});
    ImGui::SetNextWindowSize({display.x, 0});
    ImGui::Begin(name, nullptr, kBar | ImGuiWindowFlags_AlwaysAutoResize);
}

float widestLabel(const Shown& head, float most) {
    constexpr size_t kMany = 4096; // tokens of a lens, which are numbers: the last is as wide as any
    if (head.labels().size() > kMany) return std::min(most, ImGui::CalcTextSize(head.labels().back().c_str()).x);
    float widest = 0;
    for (const std::string& label : head.labels()) {
        widest = std::max(widest, ImGui::CalcTextSize(label.c_str()).x);
        if (widest >= most) return most;
    }
    return widest;
}

} // namespace

float Page::drawTools(const Shown& head, Wishes& wishes) {
    beginBar("tools", 0, 0);
    choose("##layer", "Layer %d", "Layer (up and down arrows)", head.layer(), head.layers(), wishes.layer);
    flow(chooserWidth());
    choose("##head", "Head %d", "Head (left and right arrows)", head.head(), head.heads(), wishes.head);
    if (head.canGenerate()) {
        if (button("Write a token", "Write the likeliest token; its row appears (Space)")) ++wishes.tokens;
        if (button("Reset", "Back to the prompt (R)")) wishes.reset = true;
    }
    if (button("Fit", "Show the whole pattern (0); the wheel zooms, dragging pans")) wishes.fit = true;
    bool lifts = liftsFaint_;
    if (flow(buttonWidth("Lift faint cells") + ImGui::GetFrameHeight())) {
        if (ImGui::Checkbox("Lift faint cells", &lifts)) wishes.lift = true;
        tip("Colour by the square root of the probability (B)");
    }
    if (button("Full screen", "Use the whole screen, or go back (F)")) wishes.fullScreen = true;
    const float height = ImGui::GetWindowSize().y;
    ImGui::End();
    return height;
}

float Page::drawFacts(const Shown& head, double frameMs) const {
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    beginBar("facts", display.y, 1);
    ImGui::PushTextWrapPos(0);
    if (!head.notice().empty()) ImGui::TextColored({1.0f, 0.78f, 0.35f, 1}, "%s", head.notice().c_str());
    ImGui::PushStyleColor(ImGuiCol_Text, ImGui::GetStyleColorVec4(ImGuiCol_TextDisabled));
    const std::string text = head.facts();
    const std::string facts =
        isSmallPage() ? text
                      : fmt::format("{}  ·  {}  ·  {}  ·  {} MiB  ·  {:.1f} ms/frame", head.name(), text,
                                    head.context().traits().name, head.context().allocatedBytes() >> 20, frameMs);
    ImGui::TextUnformatted(facts.c_str(), facts.c_str() + facts.size());
    ImGui::PopStyleColor();
    ImGui::PopTextWrapPos();
    const float height = ImGui::GetWindowSize().y;
    ImGui::End();
    return height;
}

float Page::drawCaption(const Shown& head, float top) const {
    if (isSmallPage()) return 0;
    const float em = ImGui::GetFontSize();
    const std::string place = fmt::format("Layer {}, head {}: ", head.layer(), head.head());
    std::string text = place + "each row is a query, each column a key that it attends to";
    if (ImGui::CalcTextSize(text.c_str()).x > ImGui::GetIO().DisplaySize.x - 1.5f * em)
        text = place + "rows query, columns key";
    ImGui::GetBackgroundDrawList()->AddText({em * 0.75f, top + em * 0.5f}, ImGui::GetColorU32(ImGuiCol_Text),
                                            text.c_str());
    return em * 1.5f;
}

void Page::placePattern(const Shown& head, const Area& area) {
    const float em = ImGui::GetFontSize(), gap = em * 0.4f, pad = em * 0.75f;
    const bool hasLegend = area.width > em * 24;
    const float legendWidth = hasLegend ? em * 3.5f : 0;
    float labels = 0;
    const auto place = [&](float labelHeight) {
        plot_ = {.x = area.x + pad + labels + gap, .y = area.y + pad + labelHeight + gap};
        plot_.width = area.x + area.width - pad - legendWidth - plot_.x;
        plot_.height = area.y + area.height - pad - plot_.y;
        view_.place(plot_.x, plot_.y, plot_.width, plot_.height, head.tokenCount(), em * kLargestCell);
    };
    place(0);
    if (view_.cellSize() >= em * kSmallestLabel) { // key labels lie flat if they fit their cells, else they stand
        labels = widestLabel(head, std::min(area.width, area.height) / 4);
        place(em);
        const float cell = view_.cellSize();
        labelsStand_ = labels * std::min(cell / em, 1.0f) + em * 0.1f > cell;
        if (labelsStand_) place(labels);
    }
    legend_ = {};
    if (!hasLegend || plot_.height < em * 4) return;
    const float right = view_.left() + view_.cellSize() * static_cast<float>(head.tokenCount());
    legend_ = {std::min(right, plot_.x + plot_.width) + em * 0.9f, std::max(view_.top(), plot_.y), em * 0.8f,
               std::min(plot_.height, em * 10)};
}

void Page::handleMouse() {
    const ImGuiIO& io = ImGui::GetIO();
    const ImVec2 mouse = io.MousePos;
    const bool isInside = !io.WantCaptureMouse && mouse.x >= plot_.x && mouse.y >= plot_.y &&
                          mouse.x < plot_.x + plot_.width && mouse.y < plot_.y + plot_.height;
    if (isInside && io.MouseWheel != 0) view_.zoom(std::pow(kZoomStep, io.MouseWheel), mouse.x, mouse.y);
    if (isInside && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) isDragging_ = true;
    if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) isDragging_ = false;
    if (isDragging_) view_.pan(io.MouseDelta.x, io.MouseDelta.y);
    hovered_ = isInside && !(isDragging_ && (io.MouseDelta.x != 0 || io.MouseDelta.y != 0))
                   ? view_.cellAt(mouse.x, mouse.y)
                   : std::nullopt;
}

void Page::drawLabels(const Shown& head) const {
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
                colour(hovered_ && hovered_->query == query), head.labels()[static_cast<size_t>(query)]);
    list.PopClipRect();
    list.PushClipRect({plot_.x, 0}, {plot_.x + plot_.width, top + gap});
    const auto [firstKey, endKey] = view_.visibleKeys();
    for (int key = firstKey; key < endKey; ++key)
        addText(list, {view_.left() + (static_cast<float>(key) + 0.5f) * cell, top},
                labelsStand_ ? TextPlace::StandingOn : TextPlace::Above, fontSize,
                colour(hovered_ && hovered_->key == key), head.labels()[static_cast<size_t>(key)]);
    list.PopClipRect();
}

void Page::drawLegend(float largest) {
    if (legend_.height <= 0) return;
    const float em = ImGui::GetFontSize();
    ImDrawList& list = *ImGui::GetBackgroundDrawList();
    const ImU32 colour = ImGui::GetColorU32(ImGuiCol_TextDisabled);
    const auto mark = [](float value) { return fmt::format("{:.2g}", static_cast<double>(value)); };
    const std::string marks[] = {(largest < 1 ? "≥ " : "") + mark(largest),
                                 mark(largest * (liftsFaint_ ? 0.25f : 0.5f)), "0"};
    for (int i = 0; i < 3; ++i) {
        const float y =
            legend_.y + legend_.height * static_cast<float>(i) / 2 - em * (0.1f + 0.4f * static_cast<float>(i));
        list.AddText({std::floor(legend_.x + legend_.width + em * 0.35f), std::floor(y)}, colour, marks[i].c_str());
    }
}

void Page::drawHover(Shown& head) const {
    if (!hovered_) return;
    const float cell = view_.cellSize();
    const ImVec2 corner{view_.left() + static_cast<float>(hovered_->key) * cell,
                        view_.top() + static_cast<float>(hovered_->query) * cell};
    if (cell >= 4) {
        ImDrawList& list = *ImGui::GetBackgroundDrawList();
        list.PushClipRect({plot_.x, plot_.y}, {plot_.x + plot_.width, plot_.y + plot_.height});
        list.AddRect(corner, {corner.x + cell + 1, corner.y + cell + 1}, IM_COL32(255, 255, 255, 230), 0, 0, 1.5f);
        list.PopClipRect();
    }
    const auto labelOf = [&](int index) { return head.labels()[static_cast<size_t>(index)]; };
    std::string text = fmt::format("query {}  “{}”\nkey {}  “{}”\n", hovered_->query, labelOf(hovered_->query),
                                   hovered_->key, labelOf(hovered_->key));
    if (head.isMasked(*hovered_))
        text += hovered_->key > hovered_->query ? "masked: the key comes later"
                                                : fmt::format("masked: the window is {} keys", head.window());
    else
        text += fmt::format("probability {:.4f}", head.probability(*hovered_));
    ImGui::BeginTooltip();
    ImGui::TextUnformatted(text.c_str(), text.c_str() + text.size());
    ImGui::EndTooltip();
}

void Page::describePicture(const Shown& head) {
    const ImVec2 scale = ImGui::GetIO().DisplayFramebufferScale;
    const auto pixels = [&](const Area& area) {
        const auto round = [](float value) { return static_cast<int>(std::lround(value)); };
        return PixelRect{round(area.x * scale.x), round(area.y * scale.y), round(area.width * scale.x),
                         round(area.height * scale.y)};
    };
    picture_ = {.pattern = {},
                .plot = pixels(plot_),
                .originX = view_.left() * scale.x,
                .originY = view_.top() * scale.y,
                .cellSize = view_.cellSize() * scale.x,
                .exponent = liftsFaint_ ? 0.5f : 1.0f,
                .largest = head.largest(),
                .isCausal = head.isCausal(),
                .window = head.window(),
                .legend = pixels(legend_)};
    // The plot must lie within the window, which may be too small for its margins.
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    if (plot_.width < 8 || plot_.height < 8 || plot_.x + plot_.width > display.x || plot_.y + plot_.height > display.y)
        picture_.plot = picture_.legend = {};
}

void Page::draw(Shown& head, double frameMs, Wishes& wishes) {
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    const float top = drawTools(head, wishes), bottom = drawFacts(head, frameMs);
    const float caption = drawCaption(head, top);
    placePattern(head, {0, top + caption, display.x, display.y - bottom - top - caption});
    handleMouse();
    drawLabels(head);
    drawLegend(head.largest());
    drawHover(head);
    describePicture(head);
}

} // namespace attn::scope
