#pragma once

#include "app/lab/control_groups.h"
#include "engine/session/commands.h"
#include "engine/session/snapshot.h"

#include <QByteArray>
#include <QJsonObject>
#include <QString>

#include <optional>
#include <variant>
#include <vector>

namespace attn {

/// What a `.attnlab` file holds: enough to come back to the same picture, and what a class may touch.
struct SessionDocument {
    static constexpr int kVersion = 1;

    QString modelPath;
    QString prompt;
    int promptLength = 0;                      ///< tokens from the root on that are prompt
    std::vector<std::pair<int, int>> branches; ///< as in RestoreBranchesCommand
    int current = -1;
    Sampling sampling;
    QJsonObject view;  ///< what the panels show, by the panels' own keys
    QByteArray layout; ///< QMainWindow::saveState, may be empty
    ControlLocks locks;

    bool operator==(const SessionDocument&) const = default;

    /// The model, prompt and branches of a snapshot.
    static SessionDocument fromSnapshot(const Snapshot& snapshot);
    RestoreBranchesCommand restoreCommand() const;
};

QByteArray sessionToJson(const SessionDocument& document);
/// @param where named in the failure
std::variant<SessionDocument, Failure> sessionFromJson(const QByteArray& json, const QString& where);

/// Writes through a temporary file, so that a crash or a full disk leaves the old file whole.
std::optional<Failure> saveSession(const SessionDocument& document, const QString& path);
std::variant<SessionDocument, Failure> loadSession(const QString& path);

} // namespace attn
