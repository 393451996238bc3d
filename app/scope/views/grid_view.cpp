#include "app/scope/views/grid_view.h"

#include "app/scope/drawing.h"
#include "engine/models/head_name.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace attn::scope {
namespace {

constexpr float kSmallestSide = 2.5f;                 // em, of a tile: a larger grid scrolls
constexpr double kFrameMs = 25;                       // time to work between two frames
constexpr int kSmallestTile = 32, kLargestTile = 256; // pixels
constexpr int64_t kMostPixels = int64_t{24} << 20;    // of all tiles: 96 MiB

} // namespace

/// Chooses the size of a tile: as large as fits, but never too small to read.
void GridView::place(const Area& area, const Look& look) {
    const float em = ImGui::GetFontSize();
    const auto heads = static_cast<float>(subject_.heads()), layers = static_cast<float>(subject_.layers());
    gap_ = std::clamp(std::min(area.width / heads, area.height / layers) * 0.05f, 2.0f, em * 0.6f);
    const float labels = look.isPresenting ? 0 : em * 1.8f;
    const float fitting = std::min((area.width - labels) / heads, (area.height - labels) / layers) - gap_;
    side_ = std::max(std::floor(fitting * zoom_), em * (look.isPresenting ? 1 : kSmallestSide));

    const float scale = ImGui::GetIO().DisplayFramebufferScale.x;
    auto size = static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(side_ * scale, 1.0f))));
    size = std::clamp(std::min(size, static_cast<int>(std::bit_ceil(static_cast<unsigned>(subject_.tokenCount())))),
                      kSmallestTile, kLargestTile);
    const int64_t tiles = int64_t{subject_.layers()} * subject_.heads();
    while (size > kSmallestTile && tiles * size * size > kMostPixels) size /= 2;
    tileSize_ = size;
}

void GridView::drawTile(int layer, int head, const Area& at, const Area& clip, const Look& look,
                        UserRequests& requests) {
    const auto index = static_cast<size_t>(layer * subject_.heads() + head);
    ImGui::SetCursorScreenPos({at.x, at.y});
    ImGui::PushID(static_cast<int>(index));
    const bool isOpened = ImGui::InvisibleButton("tile", {at.width, at.height});
    const bool isHovered = ImGui::IsItemHovered();
    ImGui::PopID();
    if (isOpened) {
        requests.site = layer;
        requests.head = head;
        requests.view = ViewId::Head;
    }
    const bool isChosen = layer == subject_.layer() && head == subject_.head();
    if (isChosen && scrolledTo_ != static_cast<int>(index)) {
        scrolledTo_ = static_cast<int>(index);
        if (at.y < clip.y || at.y + at.height > clip.y + clip.height) ImGui::SetScrollHereY();
        if (at.x < clip.x || at.x + at.width > clip.x + clip.width) ImGui::SetScrollHereX();
    }
    if (isChosen || isHovered) {
        const ImU32 colour =
            isChosen ? ImGui::GetColorU32(ImGuiCol_CheckMark) : ImGui::GetColorU32(ImGuiCol_TextDisabled);
        ImGui::GetWindowDrawList()->AddRect({at.x - 1, at.y - 1}, {at.x + at.width + 1, at.y + at.height + 1}, colour,
                                            0, 0, 2);
    }
    if (isHovered && !look.isPresenting) ImGui::SetTooltip("%s\nClick to open.", headName(layer, head).c_str());

    Picture& picture = pictures_[index];
    const float scale = ImGui::GetIO().DisplayFramebufferScale.x;
    const float cell = at.width / static_cast<float>(std::max(subject_.tokenCount(), 1));
    const AttentionRule rule = subject_.language().ruleOf(layer);
    picture.plot = pixelsOf(at).within(pixelsOf(clip));
    picture.originX = at.x * scale;
    picture.originY = at.y * scale;
    picture.cellWidth = picture.cellHeight = cell * scale;
    picture.exponent = look.liftsFaint ? 0.5f : 1;
    picture.isCausal = rule.causal;
    picture.window = static_cast<int>(rule.window);
    picture.isLight = look.isLight;
    picture.newest = subject_.tokenCount() - 1;
    picture.glow = subject_.glow();
    places_[index] = picture.plot.isEmpty() ? Area{} : at;
}

void GridView::draw(const Area& area, const Look& look, UserRequests& requests) {
    const float em = ImGui::GetFontSize();
    pictures_.resize(static_cast<size_t>(subject_.layers() * subject_.heads()));
    places_.assign(pictures_.size(), Area{});
    for (Picture& picture : pictures_) picture.plot = {};
    if (area.width < 2 * em || area.height < 2 * em) return;
    place(area, look);

    const float labels = look.isPresenting ? 0 : em * 1.8f, step = side_ + gap_;
    const ImVec2 whole{labels + step * static_cast<float>(subject_.heads()),
                       labels + step * static_cast<float>(subject_.layers())};
    ImGui::SetNextWindowPos({area.x, area.y});
    ImGui::SetNextWindowSize({area.width, area.height});
    ImGui::SetNextWindowContentSize(whole);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    ImGui::Begin("grid", nullptr,
                 ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoCollapse |
                     ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoMove |
                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav | ImGuiWindowFlags_HorizontalScrollbar |
                     ImGuiWindowFlags_NoBringToFrontOnFocus);
    if (ImGui::IsWindowHovered() && ImGui::GetIO().MouseWheel != 0) {
        if (ImGui::GetIO().KeyCtrl)
            zoom_ = std::clamp(zoom_ * std::pow(1.2f, ImGui::GetIO().MouseWheel), 1.0f, 16.0f);
        else if (ImGui::GetIO().KeyShift)
            ImGui::SetScrollX(ImGui::GetScrollX() - ImGui::GetIO().MouseWheel * em * 4);
        else
            ImGui::SetScrollY(ImGui::GetScrollY() - ImGui::GetIO().MouseWheel * em * 4);
    }
    // Centre the grid if there is room.
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const float left = origin.x + std::max(0.0f, std::floor((area.width - whole.x) / 2)),
                top = origin.y + std::max(0.0f, std::floor((area.height - whole.y) / 2));
    // Labels stay at the edges while tiles scroll under them.
    const float labelLeft = whole.x > area.width ? area.x : left, labelTop = whole.y > area.height ? area.y : top;
    const Area clip{labelLeft + labels, labelTop + labels, area.x + area.width - labelLeft - labels,
                    area.y + area.height - labelTop - labels};
    ImGui::PushClipRect({clip.x - 2, clip.y - 2}, {clip.x + clip.width, clip.y + clip.height}, true);
    for (int layer = 0; layer < subject_.layers(); ++layer)
        for (int head = 0; head < subject_.heads(); ++head)
            drawTile(layer, head,
                     {left + labels + step * static_cast<float>(head) + gap_ / 2,
                      top + labels + step * static_cast<float>(layer) + gap_ / 2, side_, side_},
                     clip, look, requests);
    ImGui::PopClipRect();
    if (!look.isPresenting) {
        ImDrawList& list = *ImGui::GetWindowDrawList();
        const auto colour = [&](bool isMarked) {
            return ImGui::GetColorU32(isMarked ? ImGuiCol_Text : ImGuiCol_TextDisabled);
        };
        list.PushClipRect({clip.x, labelTop}, {clip.x + clip.width, area.y + area.height});
        for (int head = 0; head < subject_.heads(); ++head)
            addText(list, {left + labels + step * (static_cast<float>(head) + 0.5f), labelTop + labels - em * 0.3f},
                    TextPlace::Above, em, colour(head == subject_.head()), fmt::format("H{}", head));
        list.PopClipRect();
        list.PushClipRect({area.x, clip.y}, {area.x + area.width, clip.y + clip.height});
        for (int layer = 0; layer < subject_.layers(); ++layer)
            addText(list, {labelLeft + labels - em * 0.4f, top + labels + step * (static_cast<float>(layer) + 0.5f)},
                    TextPlace::LeftOf, em, colour(layer == subject_.layer()), fmt::format("L{}", layer));
        list.PopClipRect();
    }
    ImGui::End();
    ImGui::PopStyleVar();
    if (requests.open) requests.view = ViewId::Head;
}

bool GridView::prepare(const std::function<void()>& finishFrame) {
    if (tileSize_ == 0) return false;
    if (!tiles_.has(tileSize_) || !tiles_.isCurrent()) {
        finishFrame();
        tiles_.setSize(tileSize_);
        tiles_.work(kFrameMs);
    }
    for (int layer = 0; layer < subject_.layers(); ++layer)
        for (int head = 0; head < subject_.heads(); ++head)
            pictures_[static_cast<size_t>(layer * subject_.heads() + head)].pixels = tiles_.tile(layer, head);
    return !tiles_.isCurrent();
}

std::string GridView::facts() const { return fmt::format("{} layers × {} heads", subject_.layers(), subject_.heads()); }

Area GridView::placeOf(int layer, int head) const {
    return places_.at(static_cast<size_t>(layer * subject_.heads() + head));
}

std::unique_ptr<View> makeGridView(Subject& subject) { return std::make_unique<GridView>(*subject.model()); }

} // namespace attn::scope
