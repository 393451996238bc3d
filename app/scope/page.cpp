#include "app/scope/page.h"

#include "app/scope/drawing.h"
#include "app/scope/model_subject.h"
#include "engine/core/error.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <utility>

namespace attn::scope {
namespace {

constexpr ImGuiWindowFlags kBar =
    ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav;

float chooserWidth() { return ImGui::GetFontSize() * 7; }

/// A slider from 0 to count - 1, disabled if there is only one choice.
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

} // namespace

View* Page::view() {
    const auto found = views_.find(shown_);
    if (found != views_.end()) return found->second.get();
    if (refusals_.contains(shown_)) return nullptr;
    const ViewDescriptor& descriptor = descriptorOf(shown_);
    if (std::string refusal = refusalOf(descriptor, subject_); !refusal.empty()) {
        refusals_[shown_] = std::move(refusal);
        return nullptr;
    }
    try {
        return (views_[shown_] = descriptor.make(subject_)).get();
    } catch (const gpu::DeviceLost&) {
        throw;
    } catch (const Error& error) { // usually not enough memory
        views_.erase(shown_);
        refusals_[shown_] = error.what();
        return nullptr;
    }
}

float Page::drawTools(bool isRunning, UserRequests& requests) {
    beginBar("tools", 0, 0);
    const ModelSubject* model = subject_.model();
    View* shown = view();
    if (!isSmallPage()) {
        int key = 1;
        for (const ViewDescriptor& descriptor : viewCatalogue()) {
            const std::string help = fmt::format("{} ({})", descriptor.help, key);
            ImGui::BeginDisabled(descriptor.needsModel && model == nullptr);
            if (toolButton(descriptor.title, help.c_str(), descriptor.id == shown_, key++ == 1))
                requests.view = descriptor.id;
            ImGui::EndDisabled();
        }
    }
    if (shown && shown->looksAtHead()) {
        choose("##layer", "Layer %d", "Layer (up and down arrows)", subject_.layer(), subject_.layers(), requests.site);
        flow(chooserWidth());
        choose("##head", "Head %d", "Head (left and right arrows)", subject_.head(), subject_.heads(), requests.head);
    }
    bool isFirst = !(shown && shown->looksAtHead()); // the first tool of a line
    if (model != nullptr && shown && shown->looksAtTokens()) {
        if (toolButton("Generate a token", "Add the most probable token and its row (Space; hold for more)", false,
                       std::exchange(isFirst, false)))
            ++requests.tokens;
        if (toolButton(isRunning ? "Stop" : "Run", "Generate tokens until you stop (R)", isRunning))
            requests.run = true;
        if (toolButton("Reset", "Return to the prompt (Backspace)")) requests.reset = true;
    }
    if (toolButton(look_.isLight ? "Dark" : "Light", "Switch between the dark and the light theme (T)", false, isFirst))
        requests.theme = true;
    if (toolButton("Present", "Show only the figure, in full screen and large text (P, F11); press Esc to go back"))
        requests.present = true;
    if (shown && !shown->pictures().empty()) {
        if (toolButton("Fit", "Show the whole figure (0); the wheel zooms or scrolls, dragging pans"))
            requests.fit = true;
        if (shown->looksAtHead() &&
            toolButton("Brighten", "Colour by the square root of the weight, to see faint cells (B)", look_.liftsFaint))
            requests.lift = true;
    }
    if (shown) shown->drawTools(requests);
    const float height = ImGui::GetWindowSize().y;
    ImGui::End();
    return height;
}

float Page::drawFacts(double frameMs) {
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    beginBar("facts", display.y, 1);
    ImGui::PushTextWrapPos(0);
    if (!subject_.notice().empty())
        ImGui::TextColored(look_.isLight ? ImVec4{0.62f, 0.36f, 0, 1} : ImVec4{1.0f, 0.78f, 0.35f, 1}, "%s",
                           subject_.notice().c_str());
    ImGui::PushStyleColor(ImGuiCol_Text, ImGui::GetStyleColorVec4(ImGuiCol_TextDisabled));
    std::string facts = subject_.facts();
    if (View* shown = view())
        if (const std::string more = shown->facts(); !more.empty()) facts += "  ·  " + more;
    if (!isSmallPage())
        facts = fmt::format("{}  ·  {}  ·  {}  ·  {} MiB  ·  {:.1f} ms/frame", subject_.name(), facts,
                            subject_.context().traits().name, subject_.context().allocatedBytes() >> 20, frameMs);
    facts = brokenAt("  ·  ", facts, ImGui::GetContentRegionAvail().x);
    ImGui::TextUnformatted(facts.c_str(), facts.c_str() + facts.size());
    ImGui::PopStyleColor();
    ImGui::PopTextWrapPos();
    const float height = ImGui::GetWindowSize().y;
    ImGui::End();
    return height;
}

void Page::drawRefusal(const Area& area) const {
    const auto found = refusals_.find(shown_);
    if (found == refusals_.end()) return;
    const float em = ImGui::GetFontSize(), width = std::min(area.width - 2 * em, 36 * em);
    ImGui::SetNextWindowPos({area.x + area.width / 2, area.y + area.height / 2}, ImGuiCond_Always, {0.5f, 0.5f});
    ImGui::SetNextWindowSize({std::max(width, em), 0});
    ImGui::Begin("refusal", nullptr, kBar | ImGuiWindowFlags_NoBackground);
    ImGui::PushTextWrapPos(0);
    ImGui::TextUnformatted(found->second.c_str());
    ImGui::PopTextWrapPos();
    ImGui::End();
}

void Page::draw(double frameMs, bool isRunning, UserRequests& requests) {
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    float top = 0, bottom = 0;
    if (!look_.isPresenting) {
        top = drawTools(isRunning, requests);
        bottom = drawFacts(frameMs);
    }
    const Area area{0, top, display.x, std::max(display.y - top - bottom, 0.0f)};
    if (View* shown = view())
        shown->draw(area, look_, requests);
    else
        drawRefusal(area);
}

bool Page::prepare(const std::function<void()>& finishFrame) {
    View* shown = view();
    if (!shown) return false;
    try {
        return shown->prepare(finishFrame);
    } catch (const gpu::DeviceLost&) {
        throw;
    } catch (const Error& error) {
        finishFrame();
        views_.erase(shown_);
        refusals_[shown_] = error.what();
        return false;
    }
}

std::span<const Picture> Page::pictures() const {
    const auto found = views_.find(shown_);
    return found == views_.end() ? std::span<const Picture>() : found->second->pictures();
}

void Page::fit() {
    if (View* shown = view()) shown->fit();
}

} // namespace attn::scope
