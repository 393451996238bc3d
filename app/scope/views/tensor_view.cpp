#include "app/scope/views/tensor_view.h"

#include "app/scope/drawing.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cctype>

namespace attn::scope {
namespace {

constexpr ImGuiWindowFlags kTensorPane = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                         ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus;

bool containsText(const std::string& text, const char* wanted) {
    const std::string part = wanted;
    const auto same = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    };
    return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end() || part.empty();
}

} // namespace

TensorView::TensorView(ModelSubject& subject) : subject_(subject) {
    const ModelInfo& info = subject.language().info();
    for (const std::string& hook : info.hooks) all_.push_back({.name = hook, .shape = {}, .isHook = true});
    for (const ParameterInfo& weight : info.parameters)
        all_.push_back({.name = weight.name, .shape = Shape(weight.shape).text(), .isHook = false});
    choose(info.hooks.empty() ? info.parameters.front().name : info.hooks.front());
}

void TensorView::choose(const std::string& name) {
    chosen_ = name;
    shown_ = std::nullopt;
    isPlaced_ = false;
    lastRead_ = std::nullopt;
    plot_.fit();
}

void TensorView::drawList(const Area& area) {
    ImGui::SetNextWindowPos({area.x, area.y});
    ImGui::SetNextWindowSize({area.width, area.height});
    ImGui::Begin("tensors", nullptr, kTensorPane);
    ImGui::SetNextItemWidth(-1);
    ImGui::InputTextWithHint("##filter", "filter", filter_.data(), filter_.size());
    tip("Show only names that contain this text");
    ImGui::BeginChild("names");
    const char* heading = nullptr;
    for (const Listed& listed : all_) {
        if (!containsText(listed.name, filter_.data())) continue;
        const char* group = listed.isHook ? "Hooks (this text)" : "Parameters";
        if (group != heading) ImGui::TextDisabled("%s", heading = group);
        if (ImGui::Selectable(listed.name.c_str(), listed.name == chosen_) && listed.name != chosen_)
            choose(listed.name);
        if (!listed.shape.empty()) tip(listed.shape.c_str());
    }
    if (heading == nullptr) ImGui::TextDisabled("No name contains this text.");
    ImGui::EndChild();
    ImGui::End();
}

void TensorView::drawStatistics(const Area& area) const {
    const TensorStatistics& s = shown_->statistics;
    const auto number = [](float value) { return static_cast<double>(value); };
    const float em = ImGui::GetFontSize(), width = std::max(area.width - 1.5f * em, em);
    std::string text =
        fmt::format("{}  {}{}\n", shown_->name, shown_->shape.text(),
                    shown_->axes.empty() ? std::string() : "  " + shown_->axes) +
        brokenAt("   ",
                 fmt::format("minimum {:.4g}   maximum {:.4g}   mean {:.4g}   standard deviation {:.4g}",
                             number(s.minimum), number(s.maximum), number(s.mean), number(s.standardDeviation)),
                 width);
    text += s.nans + s.infinities > 0
                ? fmt::format("\n{:.0f} NaN, {:.0f} infinite", number(s.nans), number(s.infinities))
                : "\nno NaN or infinite values";
    if (s.masked > 0) text += fmt::format(", {:.0f} masked", number(s.masked));
    ImGui::GetBackgroundDrawList()->AddText(
        ImGui::GetFont(), em, {area.x + em * 0.75f, area.y + em * 0.5f},
        ImGui::GetColorU32(s.nans + s.infinities > 0 ? ImGuiCol_PlotHistogram : ImGuiCol_Text), text.c_str(), nullptr,
        width);
}

std::string TensorView::describe(const Cell& cell) {
    if (!lastRead_ || lastRead_->first != cell) lastRead_ = {cell, subject_.microscope().value(cell.query, cell.key)};
    std::string place;
    int64_t rest = cell.query;
    const Shape& shape = shown_->shape;
    for (int axis = shape.rank() - 2; axis >= 0; --axis) {
        const std::string name =
            shown_->axes.empty() ? std::string("row") : std::string(1, shown_->axes[static_cast<size_t>(axis)]);
        place = fmt::format("{} {}, ", name, rest % shape[axis]) + place;
        rest /= shape[axis];
    }
    const std::string last = shown_->axes.empty() ? std::string("column") : std::string(1, shown_->axes.back());
    return fmt::format("{}{} {}\n{:.6g}", place, last, cell.key, static_cast<double>(lastRead_->second));
}

void TensorView::draw(const Area& area, const Look& look, UserRequests&) {
    const float em = ImGui::GetFontSize();
    Area picture = area;
    if (!look.isPresenting && area.width > 24 * em) {
        const float pane = std::clamp(area.width * 0.3f, 12 * em, 22 * em);
        drawList({area.x, area.y, pane, area.height});
        picture = {area.x + pane, area.y, area.width - pane, area.height};
    }
    if (!shown_) return;
    if (!look.isPresenting) {
        const float lines = (picture.width < 38 * em ? 4.0f : 3.0f) * 1.15f * em + em * 0.5f;
        drawStatistics(picture);
        picture.y += lines;
        picture.height -= lines;
    }
    plot_.draw(picture, look, *shown_, subject_.context().traits().maxStorageBufferRange,
               {.describe = [this](const Cell& cell) { return describe(cell); }});
    isPlaced_ = true;
}

bool TensorView::prepare(const std::function<void()>& finishFrame) {
    if (shown_ && (version_ == subject_.version() || shown_->axes.empty())) return false;
    finishFrame();
    lastRead_ = std::nullopt;
    shown_ = subject_.microscope().tensor(chosen_);
    version_ = subject_.version();
    isPlaced_ = false;
    return true; // visible in the next frame
}

std::string TensorView::facts() const { return {}; }

std::unique_ptr<View> makeTensorView(Subject& subject) { return std::make_unique<TensorView>(*subject.model()); }

} // namespace attn::scope
