#pragma once

#include <QJsonObject>
#include <QMap>
#include <QString>
#include <QStringList>

#include <span>

class QAction;
class QWidget;

namespace attn {

/// A set of controls that a teacher can lock or hide before handing a session to a class.
struct ControlGroup {
    const char* id;
    const char* title; ///< marked for translation
};

/// All groups, in the order of the "Lock for class" dialog.
std::span<const ControlGroup> controlGroups();

enum class ControlState { Free, Locked, Hidden };
using ControlLocks = QMap<QString, ControlState>; ///< by group id; groups that are absent are free

/// Puts a container into a group. Panels enable and disable the controls inside it, but never the container, so a lock
/// cannot be undone by a panel.
void assignControlGroup(QWidget* container, const char* id);
void assignControlGroup(QAction* action, const char* id);
bool isLocked(const QAction& action);
/// Enables or disables an action, but keeps it disabled while it is locked.
void enableUnlessLocked(QAction* action, bool wanted);

/// Whether locks hide a container.
bool isHiddenBy(const QWidget& container, const ControlLocks& locks);

/// Applies the locks to every assigned container in the window, including docks, and to the window's actions.
void applyLocks(QWidget* window, const ControlLocks& locks);

QJsonObject locksToJson(const ControlLocks& locks);
/// Reads locks. Ignores unknown groups and states, because a newer program may have more of them.
/// @param unknown receives their names
ControlLocks locksFromJson(const QJsonObject& object, QStringList& unknown);

} // namespace attn
