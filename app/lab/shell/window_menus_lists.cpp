// The manual, and the lists of all actions: the sheet of shortcuts and the finder.
#include "app/lab/common/control_groups.h"
#include "app/lab/dialogs/finder.h"
#include "app/lab/dialogs/manual.h"
#include "app/lab/dialogs/shortcut_sheet.h"
#include "app/lab/panels/train_panel.h"
#include "app/lab/shell/lock_controller.h"
#include "app/lab/shell/panel_docks.h"
#include "app/lab/shell/window_menus.h"
#include "app/lab/widgets/widget_makers.h"

#include <QMainWindow>
#include <QMenuBar>

#include <algorithm>
#include <iterator>
#include <utility>

namespace attn {

void WindowMenus::showManual() {
    auto* manual = window_.findChild<Manual*>();
    if (!manual) manual = new Manual(&window_); // stays on its page when it is closed
    manual->show();
    manual->raise();
    manual->activateWindow();
}

void WindowMenus::showShortcuts() {
    auto* sheet = new ShortcutSheet(*window_.menuBar(), &window_);
    sheet->setAttribute(Qt::WA_DeleteOnClose);
    sheet->open();
}

void WindowMenus::showFinder() {
    std::vector<Finder::Entry> entries;
    for (const auto& [id, action] : actions_) {
        if (!action->isVisible() || !action->isEnabled() || action->text().isEmpty()) continue;
        const QString kind = id.startsWith("panel.")       ? tr("Panel")
                             : id.startsWith("workspace.") ? tr("Workspace")
                             : id.startsWith("bundled.")   ? tr("Model")
                             : id.startsWith("recent")     ? tr("Recent")
                                                           : tr("Action");
        entries.push_back({shownOnButton(action->text()), kind, action->shortcut().toString(QKeySequence::NativeText),
                           [action = action] { action->trigger(); }, action->toolTip()});
    }
    std::ranges::move(Finder::words(), std::back_inserter(entries));
    if (!parts_.locks.isLesson() && parts_.locks.own().isEmpty()) {
        for (const auto& [id, panel] : panels_.panels())
            for (Panel::Place& place : panel->places())
                entries.push_back({place.title, place.kind, {}, std::move(place.open), std::move(place.help), true});
        for (const auto& [id, panel] : panels_.panels())
            Finder::addControls(entries, *panel, panels_.dock(id).windowTitle(),
                                [this, id = id] { bench_.showPanel(id); });
        Finder::addControls(entries, *train_.timeline(), panels_.dock("train").windowTitle(),
                            [this] { bench_.showPanel("train"); });
    }
    auto* finder = new Finder(std::move(entries), &window_);
    finder->setAttribute(Qt::WA_DeleteOnClose);
    finder->open();
}

} // namespace attn
