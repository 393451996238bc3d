#include "app/lab/common/control_groups.h"

#include <QAction>
#include <QCoreApplication>
#include <QDockWidget>
#include <QPointer>

#include <algorithm>
#include <iterator>

namespace attn {
namespace {

constexpr const char* kGroupProperty = "attnControlGroup";
constexpr const char* kLockedProperty = "attnLocked";
constexpr const char* kStateNames[] = {"free", "locked", "hidden"};

constexpr ControlGroup kGroups[] = {
    {"files", QT_TRANSLATE_NOOP("attn::ControlGroup", "Opening models and files")},
    {"prompt", QT_TRANSLATE_NOOP("attn::ControlGroup", "Editing the prompt")},
    {"generation", QT_TRANSLATE_NOOP("attn::ControlGroup", "Step, run, stop, reset and speed")},
    {"sampling", QT_TRANSLATE_NOOP("attn::ControlGroup", "Sampling: temperature, top-k, top-p …")},
    {"candidates", QT_TRANSLATE_NOOP("attn::ControlGroup", "Choosing the next token")},
    {"branches", QT_TRANSLATE_NOOP("attn::ControlGroup", "The branch tree")},
    {"heads", QT_TRANSLATE_NOOP("attn::ControlGroup", "Head gates and changes")},
    {"attention", QT_TRANSLATE_NOOP("attn::ControlGroup", "Choosing layer, head, scale and colours")},
    {"cell", QT_TRANSLATE_NOOP("attn::ControlGroup", "The arithmetic of one cell")},
    {"model", QT_TRANSLATE_NOOP("attn::ControlGroup", "The model's parameters and configuration")},
    {"recipe", QT_TRANSLATE_NOOP("attn::ControlGroup", "The recipe of a training run")},
    {"training", QT_TRANSLATE_NOOP("attn::ControlGroup", "Train, pause, step, reset and learning rate")},
    {"timeline", QT_TRANSLATE_NOOP("attn::ControlGroup", "The timeline of a training run")},
    {"runs", QT_TRANSLATE_NOOP("attn::ControlGroup", "The list of training runs")},
    {"playground", QT_TRANSLATE_NOOP("attn::ControlGroup", "The Playground")},
    {"vision", QT_TRANSLATE_NOOP("attn::ControlGroup", "Pictures and vision models")},
    {"inspect", QT_TRANSLATE_NOOP("attn::ControlGroup", "Head kinds, lenses, comparison and text")},
    {"export", QT_TRANSLATE_NOOP("attn::ControlGroup", "Export and copy")},
};

ControlState stateOf(const QObject* object, const ControlLocks& locks) {
    return locks.value(object->property(kGroupProperty).toString(), ControlState::Free);
}

} // namespace

std::span<const ControlGroup> controlGroups() { return kGroups; }

void assignControlGroup(QWidget* container, const char* id) {
    container->setProperty(kGroupProperty, QString::fromLatin1(id));
}

void assignControlGroup(QAction* action, const char* id) {
    action->setProperty(kGroupProperty, QString::fromLatin1(id));
}

bool isLocked(const QAction& action) { return action.property(kLockedProperty).toBool(); }

void enableUnlessLocked(QAction* action, bool wanted) { action->setEnabled(wanted && !isLocked(*action)); }

bool isHiddenBy(const QWidget& container, const ControlLocks& locks) {
    return stateOf(&container, locks) == ControlState::Hidden;
}

void applyLocks(QWidget* window, const ControlLocks& locks) {
    // A field that loses the focus accepts its typed text, and panels may then make new controls.
    std::vector<QPointer<QWidget>> containers;
    for (QWidget* each : window->findChildren<QWidget*>())
        if (each->property(kGroupProperty).isValid()) containers.emplace_back(each);
    for (const QPointer<QWidget>& container : containers) {
        if (!container) continue;
        const ControlState state = stateOf(container.data(), locks);
        const bool isHidden = state == ControlState::Hidden;
        if (auto* dock = qobject_cast<QDockWidget*>(container.data())) {
            // The layout of the window leaves hidden docks out, and brings them back.
            dock->toggleViewAction()->setVisible(!isHidden);
            if (dock->widget()) dock->widget()->setEnabled(state == ControlState::Free);
        } else {
            container->setEnabled(state == ControlState::Free);
            if (container) container->setVisible(!isHidden);
        }
    }
    for (QAction* action : window->findChildren<QAction*>()) {
        if (!action->property(kGroupProperty).isValid()) continue;
        const ControlState state = stateOf(action, locks);
        action->setProperty(kLockedProperty, state != ControlState::Free);
        action->setVisible(state != ControlState::Hidden);
        action->setEnabled(state == ControlState::Free);
    }
}

QJsonObject locksToJson(const ControlLocks& locks) {
    QJsonObject object;
    for (auto it = locks.begin(); it != locks.end(); ++it)
        if (it.value() != ControlState::Free)
            object[it.key()] = QString::fromLatin1(kStateNames[static_cast<int>(it.value())]);
    return object;
}

ControlLocks locksFromJson(const QJsonObject& object, QStringList& unknown) {
    ControlLocks locks;
    for (auto each = object.begin(); each != object.end(); ++each) {
        const auto state = std::ranges::find(kStateNames, each.value().toString(),
                                             [](const char* name) { return QString::fromLatin1(name); });
        const bool isGroup = std::ranges::any_of(
            kGroups, [&](const ControlGroup& group) { return each.key() == QLatin1String(group.id); });
        if (isGroup && state != std::end(kStateNames))
            locks[each.key()] = static_cast<ControlState>(state - std::begin(kStateNames));
        else
            unknown << QStringLiteral("locks %1 “%2”")
                           .arg(each.key().left(40), each.value().toVariant().toString().left(40));
    }
    return locks;
}

} // namespace attn
