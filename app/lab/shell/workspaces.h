#pragma once

#include <QString>
#include <QStringList>

#include <vector>

namespace attn {

/// An arrangement of panels for one kind of work. Panels are named as in their catalogue.
struct Workspace {
    const char* id;      ///< object name of its button, its name in settings and session files, and its icon
    const char* title;   ///< untranslated, on its button
    const char* toolTip; ///< untranslated
    QStringList main;    ///< tabs of the large place: the main figure, in front, and what can take its place
    QStringList above;   ///< tabs of the upper place of the column at the left
    QStringList below;   ///< tabs of the lower place; empty: the column has one place

    bool showsOneHead = false; ///< at first; else all heads
    bool showsFlow = true;     ///< at first, if the user wants it; else the figure has its room
    bool holds(const QString& panel) const {
        return main.contains(panel) || above.contains(panel) || below.contains(panel);
    }
};

/// The workspaces in the order of their buttons. No place has more than five tabs.
const std::vector<Workspace>& workspaces();
const Workspace& workspaceNamed(const QString& id); ///< the first one for an unknown name
QString workspaceTitle(const Workspace& workspace);
QString workspaceToolTip(const Workspace& workspace);

} // namespace attn
