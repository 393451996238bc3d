#pragma once

#include "app/lab/common/control_groups.h"
#include "engine/session/commands.h"
#include "engine/session/snapshot.h"

#include <QByteArray>
#include <QJsonObject>
#include <QString>
#include <QStringList>

#include <optional>
#include <variant>
#include <vector>

namespace attn {

/// The content of a `.attnlab` file: everything that restores the same screen, and the locks for a class.
struct SessionDocument {
    static constexpr int kVersion = 2; ///< 2: heads are named by site

    QString modelPath;
    Storage storage = Storage::F32;   ///< of the weights
    GivenText given;                  ///< without tokens and target, which the branches hold
    std::vector<int> source;          ///< tokens of the prompt that an encoder reads; empty without one
    int promptLength = 0;             ///< number of tokens, from the root, that belong to the prompt
    std::vector<SavedToken> branches; ///< as in RestoreBranchesCommand
    int current = -1;
    Sampling sampling;
    QJsonObject view;  ///< the state of each panel, by keys that the panels choose
    QByteArray layout; ///< QMainWindow::saveState, may be empty
    QString workspace; ///< for a document without a layout: its id; empty: the present one
    QString focus;     ///< name of the control that has the keyboard; empty: not known
    ControlLocks locks;
    QString file;        ///< the session file that the user opened it from or saved it to; empty: none
    QStringList unknown; ///< what the file names and this program does not know; not written

    bool operator==(const SessionDocument&) const = default;

    /// The model, prompt and branches of a snapshot: what the model has read; what it was given while it reads that,
    /// and if it has read nothing.
    static SessionDocument fromSnapshot(const Snapshot& snapshot);
    RestoreBranchesCommand restoreCommand() const;
    /// The prompt; the name of the model if there is none, as for a picture.
    QString title() const;
};

QByteArray sessionToJson(const SessionDocument& document);
/// @param where the file that a failure names
std::variant<SessionDocument, Failure> sessionFromJson(const QByteArray& json, const QString& where);

/// Writes through a temporary file, so that a crash or a full disk leaves the old file intact. Refuses what
/// loadSession() would refuse for its size.
std::optional<Failure> saveSession(const SessionDocument& document, const QString& path);
/// Refuses files of more than 64 MiB, branch trees of more than 262,144 tokens, and JSON that is nested deeper than Qt
/// reads (1024).
std::variant<SessionDocument, Failure> loadSession(const QString& path);

} // namespace attn
