#pragma once

#include "app/lab/workbench/panel.h"

#include <span>

namespace attn {

struct PanelDescriptor {
    const char* id;           ///< object name of its dock, key in session files
    const char* title;        ///< untranslated; panelTitle translates it
    const char* controlGroup; ///< group that locks or hides the whole panel; null: its parts have groups of their own
    Panel* (*make)(Workbench& bench, QWidget* parent);
    bool (*serves)(const ModelInfo& model) = nullptr; ///< whether it shows something of a model; null: of every model
};

/// Every panel that lessons can show, in the order of the View menu. To add a panel, add its files and one line here.
std::span<const PanelDescriptor> panelCatalogue();

QString panelTitle(const PanelDescriptor& descriptor);

} // namespace attn
