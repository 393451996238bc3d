#include "app/lab/shell/window_panels.h"

#include "app/lab/lessons/lesson_panel.h"

#include <algorithm>
#include <string_view>

namespace attn {

const std::vector<PanelDescriptor>& windowPanels() {
    static const std::vector<PanelDescriptor> all = [] {
        std::vector<PanelDescriptor> panels(panelCatalogue().begin(), panelCatalogue().end());
        const auto place = std::ranges::find(panels, std::string_view("interventions"),
                                             [](const auto& each) { return std::string_view(each.id); });
        panels.insert(place,
                      {"lessons", QT_TRANSLATE_NOOP("attn::Panel", "Lessons"), nullptr,
                       [](Workbench& bench, QWidget* parent) -> Panel* { return new LessonPanel(bench, parent); }});
        return panels;
    }();
    return all;
}

} // namespace attn
