#pragma once

#include "app/lab/scope_launch.h"
#include "engine/session/mirror_protocol.h"

#include <QLocalServer>
#include <QPointer>

#include <vector>

namespace attn {

/// What attention-scope shows of a snapshot: the model with what is changed about it, all
/// tokens, and the head in detail. Empty without a model.
MirrorMessage mirrorOf(const Snapshot& snapshot, bool isLight);
/// What must be sent for `now` to show where `before` shows: what is the same is left out, but that another model needs
/// its tokens and head.
MirrorMessage mirrorChange(const MirrorMessage& before, const MirrorMessage& now);

/// Serves a local socket to the scopes that this window has opened, and sends them each change.
class ScopeMirror : public QObject {
public:
    explicit ScopeMirror(QObject* parent = nullptr);
    ~ScopeMirror() override;

    /// Where scopes are to listen; empty if no socket could be served.
    QString socketPath();
    /// Brings every scope to show this.
    void show(const Snapshot& snapshot, bool isLight);

private:
    void greet();
    void send(QIODevice& scope, const MirrorMessage& message) const;

    QLocalServer server_;
    std::vector<QPointer<QIODevice>> scopes_;
    MirrorMessage shown_;
};

} // namespace attn
