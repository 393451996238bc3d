#include "app/lab/shell/workspaces.h"

#include <QCoreApplication>

#include <algorithm>

namespace attn {

const std::vector<Workspace>& workspaces() {
    static const std::vector<Workspace> all{
        {.id = "write",
         .title = QT_TRANSLATE_NOOP("attn::Workspace", "Write"),
         .toolTip =
             QT_TRANSLATE_NOOP("attn::Workspace", "Write a prompt and watch the heads while the model continues it"),
         .main = {"attention", "text", "beams"},
         .above = {"generate"},
         .below = {"next", "branches"}},
        {.id = "inspect",
         .title = QT_TRANSLATE_NOOP("attn::Workspace", "Inspect"),
         .toolTip = QT_TRANSLATE_NOOP("attn::Workspace", "Study heads, change them and ask questions about them"),
         .main = {"attention", "lenses", "kinds", "interventions", "profile"},
         .above = {"generate"},
         .below = {"heads", "next", "cell", "model"},
         .showsOneHead = true},
        {.id = "train",
         .title = QT_TRANSLATE_NOOP("attn::Workspace", "Train"),
         .toolTip = QT_TRANSLATE_NOOP("attn::Workspace", "Train a small model and watch its heads form"),
         .main = {"attention", "heads", "samples"},
         .above = {"train"},
         .below = {"curves", "runs"},
         .showsFlow = false},
        {.id = "build",
         .title = QT_TRANSLATE_NOOP("attn::Workspace", "Build"),
         .toolTip = QT_TRANSLATE_NOOP("attn::Workspace", "Build attention from its parts and compare mechanisms"),
         .main = {"playground"},
         .above = {},
         .below = {}},
        {.id = "compare",
         .title = QT_TRANSLATE_NOOP("attn::Workspace", "Compare"),
         .toolTip = QT_TRANSLATE_NOOP("attn::Workspace", "Compare two models, or one text with another"),
         .main = {"compare"},
         .above = {"generate"},
         .below = {"next", "model"}},
        {.id = "learn",
         .title = QT_TRANSLATE_NOOP("attn::Workspace", "Learn"),
         .toolTip = QT_TRANSLATE_NOOP("attn::Workspace", "Choose a lesson, a model or another way to start"),
         .main = {"start"},
         .above = {"lessons"},
         .below = {}},
    };
    return all;
}

const Workspace& workspaceNamed(const QString& id) {
    const auto found = std::ranges::find(workspaces(), id, [](const Workspace& each) { return QString(each.id); });
    return found != workspaces().end() ? *found : workspaces().front();
}

QString workspaceTitle(const Workspace& workspace) {
    return QCoreApplication::translate("attn::Workspace", workspace.title);
}

QString workspaceToolTip(const Workspace& workspace) {
    return QCoreApplication::translate("attn::Workspace", workspace.toolTip);
}

} // namespace attn
