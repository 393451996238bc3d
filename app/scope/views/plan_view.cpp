#include "app/scope/views/plan_view.h"

#include "app/scope/drawing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

namespace attn::scope {
namespace {

constexpr ImGuiWindowFlags kPlanPane = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                       ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus |
                                       ImGuiWindowFlags_NoBackground;
constexpr double kGoldenTurn = 0.61803398875; // successive hues are far apart

ImU32 colourOf(uint32_t index) {
    float red = 0, green = 0, blue = 0;
    ImGui::ColorConvertHSVtoRGB(static_cast<float>(std::fmod(index * kGoldenTurn, 1.0)), 0.5f, 0.8f, red, green, blue);
    return ImGui::ColorConvertFloat4ToU32({red, green, blue, 1});
}

} // namespace

std::vector<ArenaSpan> arenaSpans(const Plan& plan) {
    std::vector<ArenaSpan> spans;
    for (uint32_t tensor = 0; tensor < plan.tensors.size(); ++tensor) {
        if (plan.tensors[tensor].home != Home::Arena) continue;
        ArenaSpan span{.tensor = tensor, .firstOp = static_cast<uint32_t>(plan.ops.size()), .lastOp = 0};
        for (uint32_t op = 0; op < plan.ops.size(); ++op) {
            const auto uses = [&](const std::vector<uint32_t>& list) {
                return std::ranges::find(list, tensor) != list.end();
            };
            if (!uses(plan.ops[op].inputs) && !uses(plan.ops[op].outputs)) continue;
            span.firstOp = std::min(span.firstOp, op);
            span.lastOp = std::max(span.lastOp, op);
        }
        span.isResult = std::ranges::any_of(plan.results, [&](const auto& result) { return result.second == tensor; });
        if (span.isResult && !plan.ops.empty()) span.lastOp = static_cast<uint32_t>(plan.ops.size()) - 1;
        if (span.firstOp < plan.ops.size()) spans.push_back(span);
    }
    return spans;
}

void PlanView::drawTools(UserRequests&) {
    using enum Microscope::Phase;
    const auto choose = [&](const char* title, const char* help, Microscope::Phase phase) {
        if (!toolButton(title, help, phase_ == phase) || phase_ == phase) return;
        phase_ = phase;
        plan_ = nullptr;
    };
    choose("One token", "Show the step that generates a token", Decode);
    choose("Prompt", "Show the step that reads the prompt", Prefill);
}

std::string PlanView::tensorText(uint32_t index) const {
    const PlannedTensor& tensor = plan_->tensors[index];
    const std::string shape = tensor.type.shape.text() + (tensor.type.dtype == DType::I32 ? " I32" : "");
    if (tensor.home == Home::Arena) return fmt::format("{} @ {:#x}", shape, tensor.byteOffset);
    return fmt::format("{} {}", tensor.name, shape);
}

void PlanView::drawMap(const Area& area) {
    const float em = ImGui::GetFontSize(), left = area.x + em * 5.5f, width = area.width - em * 6.5f,
                top = area.y + em * 1.9f, height = area.height - em * 3.3f;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddText({area.x + em * 0.75f, area.y + em * 0.4f}, ImGui::GetColorU32(ImGuiCol_Text),
                 fmt::format("The arena of {}{}: tensors by address, {}",
                             bytesText(static_cast<double>(plan_->arenaBytes)), withChanges(subject_.changeCount()),
                             area.width > 50 * em ? "from the op that writes each to the last op that reads it"
                                                  : "while they live")
                     .c_str());
    if (width < em || height < em || plan_->arenaBytes == 0) return;
    list.AddRectFilled({left, top}, {left + width, top + height}, ImGui::GetColorU32(ImGuiCol_FrameBg, 0.5f));
    const ImU32 faint = ImGui::GetColorU32(ImGuiCol_TextDisabled);
    addText(list, {left - em * 0.3f, top + em * 0.5f}, TextPlace::LeftOf, em * 0.85f, faint, "0");
    addText(list, {left - em * 0.3f, top + height - em * 0.5f}, TextPlace::LeftOf, em * 0.85f, faint,
            bytesText(static_cast<double>(plan_->arenaBytes)));
    list.AddText({left, top + height + em * 0.15f}, faint, "op 0");
    const std::string last = fmt::format("op {}", plan_->ops.size() - 1);
    list.AddText({left + width - ImGui::CalcTextSize(last.c_str()).x, top + height + em * 0.15f}, faint, last.c_str());

    const float step = width / static_cast<float>(plan_->ops.size());
    const float perByte = height / static_cast<float>(plan_->arenaBytes);
    if (marked_ >= 0)
        list.AddRectFilled({left + static_cast<float>(marked_) * step, top},
                           {left + static_cast<float>(marked_ + 1) * step, top + height},
                           ImGui::GetColorU32(ImGuiCol_Text, 0.15f));
    for (const ArenaSpan& span : spans_) {
        const PlannedTensor& tensor = plan_->tensors[span.tensor];
        const ImVec2 from{left + static_cast<float>(span.firstOp) * step,
                          top + static_cast<float>(tensor.byteOffset) * perByte};
        const ImVec2 to{std::max(left + static_cast<float>(span.lastOp + 1) * step, from.x + 1),
                        std::max(from.y + static_cast<float>(tensor.byteSize) * perByte, from.y + 1)};
        const bool isLive = marked_ >= static_cast<int>(span.firstOp) && marked_ <= static_cast<int>(span.lastOp);
        list.AddRectFilled(from, to, colourOf(span.tensor));
        if (to.y - from.y > 3)
            list.AddRect(from, to, isLive ? ImGui::GetColorU32(ImGuiCol_Text) : IM_COL32(0, 0, 0, 120));
        if (ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows) && ImGui::IsMouseHoveringRect(from, to))
            ImGui::SetTooltip("%s\n%s, ops %u to %u%s", tensorText(span.tensor).c_str(),
                              bytesText(static_cast<double>(tensor.byteSize)).c_str(), span.firstOp, span.lastOp,
                              span.isResult ? ", a result (kept)" : "");
    }
}

void PlanView::drawTable(const Area& area) {
    const bool isNarrow = area.width < 50 * ImGui::GetFontSize();
    if (!ImGui::BeginTable("plan", 6,
                           ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_Resizable |
                               ImGuiTableFlags_BordersInnerV | ImGuiTableFlags_SizingStretchProp))
        return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("#", 0, 1);
    ImGui::TableSetupColumn("op", 0, 3);
    ImGui::TableSetupColumn("reads", 0, 9);
    ImGui::TableSetupColumn("writes", 0, 5);
    ImGui::TableSetupColumn("MFLOP", isNarrow ? ImGuiTableColumnFlags_Disabled : 0, 1.6f);
    ImGui::TableSetupColumn("order", isNarrow ? ImGuiTableColumnFlags_Disabled : 0, 1.8f);
    ImGui::TableHeadersRow();
    marked_ = -1;
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(plan_->ops.size()));
    while (clipper.Step())
        for (int index = clipper.DisplayStart; index < clipper.DisplayEnd; ++index) {
            const PlannedOp& op = plan_->ops[static_cast<size_t>(index)];
            const auto list = [&](const std::vector<uint32_t>& tensors) {
                std::vector<std::string> texts;
                for (uint32_t tensor : tensors) texts.push_back(tensorText(tensor));
                return fmt::format("{}", fmt::join(texts, ",  "));
            };
            const auto cell = [](int column, const std::string& text) {
                if (!ImGui::TableSetColumnIndex(column)) return;
                ImGui::TextUnformatted(text.c_str(), text.c_str() + text.size());
                if (ImGui::IsItemHovered() && ImGui::GetItemRectSize().x > ImGui::GetColumnWidth())
                    ImGui::SetTooltip("%s", text.c_str());
            };
            ImGui::TableNextRow();
            ImGui::TableSetColumnIndex(0);
            ImGui::Selectable(std::to_string(index).c_str(), index == marked_, ImGuiSelectableFlags_SpanAllColumns);
            if (ImGui::IsItemHovered()) marked_ = index;
            cell(1, std::string(plan_->graph->node(op.node).op->name));
            cell(2, list(op.inputs));
            cell(3, list(op.outputs));
            cell(4, op.aliasOnly ? "" : fmt::format("{:.3f}", operationsOf(*plan_, op) * 1e-6));
            cell(5, op.aliasOnly ? "no work" : op.barrierBefore ? "barrier" : "");
        }
    ImGui::EndTable();
}

void PlanView::draw(const Area& area, const Look&, UserRequests&) {
    if (!plan_) return;
    ImGui::SetNextWindowPos({area.x, area.y});
    ImGui::SetNextWindowSize({area.width, std::max(area.height, 1.0f)});
    ImGui::Begin("plan view", nullptr, kPlanPane);
    const float em = ImGui::GetFontSize(), map = std::clamp(area.height * 0.42f, 6 * em, 24 * em);
    drawMap({area.x, area.y, area.width, map});
    ImGui::SetCursorScreenPos({area.x + em * 0.6f, area.y + map});
    ImGui::BeginChild("table", {area.width - 1.2f * em, area.height - map - em * 0.4f});
    drawTable(area);
    ImGui::EndChild();
    ImGui::End();
}

bool PlanView::prepare(const std::function<void()>& finishFrame) {
    if (plan_ && changesVersion_ == subject_.changesVersion()) return false;
    finishFrame();
    if (phase_ == Microscope::Phase::Prefill && subject_.tokenCount() < 2) {
        subject_.setNotice("A prompt of one token runs like any other token: it has no plan of its own.");
        phase_ = Microscope::Phase::Decode;
    }
    plan_ = subject_.microscope().plan(phase_);
    spans_ = arenaSpans(*plan_);
    changesVersion_ = subject_.changesVersion();
    return true; // visible in the next frame
}

std::string PlanView::facts() const {
    return plan_ ? fmt::format("{} ops, {} tensors{}", plan_->ops.size(), plan_->tensors.size(),
                               withChanges(subject_.changeCount()))
                 : std::string();
}

std::unique_ptr<View> makePlanView(Subject& subject) { return std::make_unique<PlanView>(*subject.model()); }

} // namespace attn::scope
