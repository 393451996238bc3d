#pragma once

#include <QJsonObject>
#include <QMap>
#include <QString>

#include <span>

class QAction;
class QWidget;

namespace attn {

/// A set of controls that a teacher can lock or hide before handing a session to a class.
struct ControlGroup {
    const char* id;
    const char* title; ///< marked for translation
};

/// In the order of the "Lock for class" dialog.
std::span<const ControlGroup> controlGroups();

enum class ControlState { Free, Locked, Hidden };
using ControlLocks = QMap<QString, ControlState>; ///< by group id; groups that are absent are free

/// Puts a container into a group. Panels enable and disable the controls inside it, never the container itself, so that
/// a lock holds whatever the panel does.
void assignControlGroup(QWidget* container, const char* id);
void assignControlGroup(QAction* action, const char* id);
/// The way to enable an action that may be locked.
void enableUnlessLocked(QAction* action, bool wanted);

/// Applies the locks to every assigned container below the window, docks included, and to the window's actions.
void applyLocks(QWidget* window, const ControlLocks& locks);

QJsonObject locksToJson(const ControlLocks& locks);
/// Unknown groups and states are ignored: a newer program may know more.
ControlLocks locksFromJson(const QJsonObject& object);

} // namespace attn
