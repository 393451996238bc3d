#include "app/scope/views/timeline_view.h"

#include "app/scope/drawing.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace attn::scope {
namespace {

constexpr ImGuiWindowFlags kPane = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus;

enum Column { Index, Op, Path, Kernel, Milliseconds, Share, Gigaflops, Gigabytes, Columns };

double perSecond(double amount, double milliseconds) { return milliseconds > 0 ? amount / milliseconds * 1e-6 : 0; }

/// The colour of an op, the same everywhere. Hues are as far apart as the number of names allows.
ImU32 colourOf(const std::string& name) {
    const float hue = static_cast<float>(std::hash<std::string>{}(name) % 1009) / 1009;
    float red = 0, green = 0, blue = 0;
    ImGui::ColorConvertHSVtoRGB(hue, 0.55f, 0.80f, red, green, blue);
    return ImGui::ColorConvertFloat4ToU32({red, green, blue, 1});
}

} // namespace

void TimelineView::drawTools(UserRequests&) {
    using enum Microscope::Phase;
    const auto choose = [&](const char* title, const char* help, Microscope::Phase phase) {
        if (!toolButton(title, help, phase_ == phase) || phase_ == phase) return;
        phase_ = phase;
        isMeasured_ = false;
    };
    choose("One token", "Time the step that generates a token", Decode);
    choose("Prompt", "Time the step that reads the prompt", Prefill);
    if (toolButton("Measure again", "Run the step five more times and show the median time of each op"))
        isMeasured_ = false;
}

void TimelineView::drawBars(const Area& area) const {
    const float em = ImGui::GetFontSize(), left = area.x + em * 0.75f, width = area.width - 1.5f * em,
                top = area.y + em * 2, height = area.height - em * 2.4f;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddText(
        {left, area.y + em * 0.5f}, ImGui::GetColorU32(ImGuiCol_Text),
        fmt::format("{}{}: {} ops in {:.3f} ms on the device, in running order",
                    profile_.queries == 1 ? std::string("A token") : fmt::format("{} tokens", profile_.queries),
                    withChanges(subject_.changeCount()), profile_.ops.size(), profile_.totalMs)
            .c_str());
    double at = 0;
    for (size_t i = 0; i < profile_.ops.size(); ++i) {
        const OpTime& op = profile_.ops[i];
        const auto x = [&](double milliseconds) {
            return left + width * static_cast<float>(milliseconds / std::max(profile_.totalMs, 1e-9));
        };
        const ImVec2 from{x(at), top}, to{std::max(x(at + op.elapsedMs), x(at) + 1), top + height};
        at += op.elapsedMs;
        list.AddRectFilled(from, to, colourOf(op.name));
        if (to.x - from.x > 3) list.AddLine({to.x, from.y}, to, IM_COL32(0, 0, 0, 90)); // separates equal ops
        if (static_cast<int>(i) == marked_) list.AddRect(from, to, ImGui::GetColorU32(ImGuiCol_Text), 0, 0, 2);
        const float label = ImGui::CalcTextSize(op.name.c_str()).x;
        if (to.x - from.x > label + em * 0.4f)
            list.AddText({from.x + (to.x - from.x - label) / 2, top + (height - em) / 2}, IM_COL32(10, 10, 10, 255),
                         op.name.c_str());
        if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(from, to))
            ImGui::SetTooltip("%s\n%s\n%.4f ms", op.name.c_str(), op.path.c_str(), op.elapsedMs);
    }
}

void TimelineView::sort(int column, bool isRising) {
    const auto keyOf = [&](size_t row) -> double {
        const OpTime& op = profile_.ops[row];
        switch (column) {
        case Milliseconds:
        case Share:
            return op.elapsedMs;
        case Gigaflops:
            return perSecond(op.operations, op.elapsedMs);
        case Gigabytes:
            return perSecond(op.bytes, op.elapsedMs);
        default:
            return op.op;
        }
    };
    const auto textOf = [&](size_t row) -> const std::string& {
        const OpTime& op = profile_.ops[row];
        return column == Op ? op.name : column == Path ? op.path : op.shader;
    };
    const bool isText = column == Op || column == Path || column == Kernel;
    std::ranges::stable_sort(order_, [&](size_t a, size_t b) {
        if (!isRising) std::swap(a, b);
        return isText ? textOf(a) < textOf(b) : keyOf(a) < keyOf(b);
    });
}

void TimelineView::drawTable(const Area& area) {
    const bool isNarrow = area.width < 56 * ImGui::GetFontSize();
    const ImGuiTableFlags flags = ImGuiTableFlags_Sortable | ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                  ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV |
                                  ImGuiTableFlags_SizingStretchProp;
    if (!ImGui::BeginTable("ops", Columns, flags)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    const auto column = [](const char* title, float weight, ImGuiTableColumnFlags more = 0) {
        ImGui::TableSetupColumn(title, more, weight);
    };
    const ImGuiTableColumnFlags spare =
        isNarrow ? ImGuiTableColumnFlags_DefaultHide | ImGuiTableColumnFlags_Disabled : ImGuiTableColumnFlags_None;
    column("#", 1.2f, ImGuiTableColumnFlags_DefaultSort);
    column("op", 3.5f);
    column("what", 5, spare);
    column("kernel", 5, spare);
    column("ms", 2, ImGuiTableColumnFlags_PreferSortDescending);
    column("share", 2, ImGuiTableColumnFlags_PreferSortDescending);
    column("GFLOP/s", 2, ImGuiTableColumnFlags_PreferSortDescending);
    column("GB/s", 2, ImGuiTableColumnFlags_PreferSortDescending);
    ImGui::TableHeadersRow();
    if (ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs(); specs && (specs->SpecsDirty || order_.empty())) {
        order_.resize(profile_.ops.size());
        std::iota(order_.begin(), order_.end(), size_t{0});
        if (specs->SpecsCount > 0)
            sort(specs->Specs[0].ColumnIndex, specs->Specs[0].SortDirection == ImGuiSortDirection_Ascending);
        specs->SpecsDirty = false;
    }
    marked_ = -1;
    for (size_t row : order_) {
        const OpTime& op = profile_.ops[row];
        ImGui::TableNextRow();
        const auto cell = [](int index, const std::string& text) {
            if (ImGui::TableSetColumnIndex(index)) ImGui::TextUnformatted(text.c_str(), text.c_str() + text.size());
        };
        ImGui::TableSetColumnIndex(Index);
        ImGui::PushID(static_cast<int>(row));
        ImGui::Selectable(std::to_string(op.op).c_str(), false, ImGuiSelectableFlags_SpanAllColumns);
        ImGui::PopID();
        if (ImGui::IsItemHovered()) marked_ = static_cast<int>(row);
        cell(Op, op.name);
        cell(Path, op.path);
        cell(Kernel, op.dispatches > 1 ? fmt::format("{} and {} more", op.shader, op.dispatches - 1) : op.shader);
        cell(Milliseconds, fmt::format("{:.4f}", op.elapsedMs));
        cell(Share, fmt::format("{:.1f} %", profile_.totalMs > 0 ? 100 * op.elapsedMs / profile_.totalMs : 0));
        cell(Gigaflops, op.operations > 0 ? fmt::format("{:.2f}", perSecond(op.operations, op.elapsedMs)) : "–");
        cell(Gigabytes, op.bytes > 0 ? fmt::format("{:.2f}", perSecond(op.bytes, op.elapsedMs)) : "–");
    }
    ImGui::EndTable();
}

void TimelineView::draw(const Area& area, const Look&, UserRequests&) {
    ImGui::SetNextWindowPos({area.x, area.y});
    ImGui::SetNextWindowSize({area.width, std::max(area.height, 1.0f)});
    ImGui::Begin("timeline", nullptr, kPane | ImGuiWindowFlags_NoBackground);
    const float em = ImGui::GetFontSize(), bars = std::clamp(area.height * 0.25f, 5 * em, 9 * em);
    if (!isMeasured_) {
        ImGui::TextUnformatted("Timing the step…");
    } else if (profile_.totalMs <= 0) {
        ImGui::PushTextWrapPos(0);
        ImGui::TextUnformatted("This device's queue has no timestamps, so its kernels cannot be timed.");
        ImGui::PopTextWrapPos();
    } else {
        drawBars({area.x, area.y, area.width, bars});
        ImGui::SetCursorScreenPos({area.x + em * 0.6f, area.y + bars});
        ImGui::BeginChild("table", {area.width - 1.2f * em, area.height - bars - em * 0.4f});
        drawTable({area.x, area.y + bars, area.width, area.height - bars});
        ImGui::EndChild();
    }
    ImGui::End();
}

bool TimelineView::prepare(const std::function<void()>& finishFrame) {
    if (isMeasured_ && changesVersion_ == subject_.changesVersion()) return false;
    finishFrame();
    if (phase_ == Microscope::Phase::Prefill && subject_.tokenCount() < 2) {
        subject_.setNotice("A prompt of one token runs like any other token: it has no step of its own to time.");
        phase_ = Microscope::Phase::Decode;
    }
    profile_ = subject_.microscope().profile(phase_);
    order_.clear();
    changesVersion_ = subject_.changesVersion();
    isMeasured_ = true;
    return true; // visible in the next frame
}

std::string TimelineView::facts() const {
    return isMeasured_ ? fmt::format("{:.3f} ms a step{}", profile_.totalMs, withChanges(subject_.changeCount()))
                       : std::string();
}

std::unique_ptr<View> makeTimelineView(Subject& subject) { return std::make_unique<TimelineView>(*subject.model()); }

} // namespace attn::scope
