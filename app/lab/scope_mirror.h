#pragma once

#include "app/lab/scope_launch.h"
#include "engine/session/mirror_protocol.h"

#include <QLocalServer>
#include <QPointer>

#include <vector>

namespace attn {

/// The state that attention-scope shows for a snapshot: the model with its changes, all tokens, and the selected head.
/// Empty without a model.
MirrorMessage mirrorOf(const Snapshot& snapshot, bool isLight);
/// The message that turns a scope from `before` to `now`. It omits fields that are equal, except that a new model is
/// always sent with its tokens and head.
MirrorMessage mirrorChange(const MirrorMessage& before, const MirrorMessage& now);

/// Serves a local socket to the scopes that this window has opened, and sends them each change.
class ScopeMirror : public QObject {
public:
    explicit ScopeMirror(QObject* parent = nullptr);
    ~ScopeMirror() override;

    /// The socket that scopes listen to; empty if none could be opened.
    QString socketPath();
    /// Makes every scope show this snapshot.
    void show(const Snapshot& snapshot, bool isLight);

private:
    void greet();
    void send(QIODevice& scope, const MirrorMessage& message) const;

    QLocalServer server_;
    std::vector<QPointer<QIODevice>> scopes_;
    MirrorMessage shown_;
};

} // namespace attn
