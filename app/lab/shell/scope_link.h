#pragma once

#include "app/lab/workbench/workbench.h"
#include "engine/session/mirror_protocol.h"

#include <QLocalServer>
#include <QPointer>
#include <QStringList>

#include <functional>
#include <optional>
#include <vector>

namespace attn {

/// The arguments that make attention-scope show the model of a snapshot, its prompt and the selected head.
/// @param device as the user named it; empty: the scope chooses
/// @param socket where the scope listens for later updates; empty: none
QStringList scopeArguments(const Snapshot& snapshot, const Selection& selection, const QString& device,
                           const QString& socket = {});

/// Starts the attention-scope in a folder as an independent process.
/// @param ended is told why, if it ends with an error while `context` lives
/// @return the failure, if it did not start
std::optional<Failure> startScope(const QString& folder, const QStringList& arguments, QObject* context,
                                  std::function<void(const Failure&)> ended);

using ScopeStarter = std::function<std::optional<Failure>(const QStringList& arguments)>;

/// The state that attention-scope shows: the model of a snapshot with its changes, all tokens, and the selected head.
/// Empty without a model.
MirrorMessage mirrorOf(const Snapshot& snapshot, const Selection& selection, bool isLight);
/// The message that turns a scope from `before` to `now`. It omits fields that are equal, except that a new model is
/// always sent with its tokens and head.
MirrorMessage mirrorChange(const MirrorMessage& before, const MirrorMessage& now);

/// Serves a local socket to the scopes that this window has opened, and sends them each change. Only programs of the
/// same user can connect.
class ScopeMirror : public QObject {
public:
    explicit ScopeMirror(QObject* parent = nullptr);
    ~ScopeMirror() override;

    /// The socket that scopes listen to; empty if none could be opened.
    QString socketPath();
    /// Makes every scope show this snapshot.
    void show(const Snapshot& snapshot, const Selection& selection, bool isLight);
    /// Bytes that wait for scopes to read them.
    qint64 waitingBytes() const;

private:
    /// A scope that listens. While more than kMostWaitingBytes wait for it, it gets no messages, but then all at once.
    struct Listener {
        QPointer<QIODevice> socket;
        bool isBehind = false;
    };
    static constexpr qint64 kMostWaitingBytes = 4 << 20;
    static constexpr size_t kMostScopes = 16;

    void greet();
    void send(Listener& scope, const MirrorMessage& message) const;
    void catchUp(); ///< sends everything to the scopes that were behind

    QLocalServer server_;
    std::vector<Listener> scopes_;
    MirrorMessage shown_;
};

} // namespace attn
