#include "app/lab/shell/window_panels.h"

#include "app/lab/lessons/lesson_panel.h"
#include "app/lab/panels/start_panel.h"

#include <algorithm>
#include <string_view>

namespace attn {

const std::vector<PanelDescriptor>& windowPanels() {
    static const std::vector<PanelDescriptor> all = [] {
        std::vector<PanelDescriptor> panels(panelCatalogue().begin(), panelCatalogue().end());
        const auto place = std::ranges::find(panels, std::string_view("interventions"),
                                             [](const auto& each) { return std::string_view(each.id); });
        const auto lessons = panels.insert(
            place, {"lessons", QT_TRANSLATE_NOOP("attn::Panel", "Lessons"), nullptr,
                    [](Workbench& bench, QWidget* parent) -> Panel* { return new LessonPanel(bench, parent); }});
        panels.insert(lessons,
                      {"start", QT_TRANSLATE_NOOP("attn::Panel", "Start page"), nullptr,
                       [](Workbench& bench, QWidget* parent) -> Panel* { return new StartPanel(bench, parent); }});
        return panels;
    }();
    return all;
}

} // namespace attn
