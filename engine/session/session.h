#pragma once

#include "engine/core/no_limit.h"
#include "engine/runtime/device.h"
#include "engine/session/commands.h"
#include "engine/session/snapshot.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace attn {

/// Runs a model of text or pictures on a worker thread, which owns all GPU objects. Commands go in, immutable
/// snapshots come out.
/// All public functions except waitIdle return at once, and all are thread-safe.
///
/// A new command replaces a waiting one of the same kind (prompt, picture, view, sampling, cell, parameter, changes),
/// so a slider does not fill the queue. Another input and other changes end an analysis that is running. Errors become
/// Snapshot::failure.
class Session {
public:
    Session();
    explicit Session(DeviceChoice choice);
    ~Session(); ///< cancels running work and joins

    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// Adds a command to the queue.
    void post(Command command);

    /// The newest snapshot; never null.
    std::shared_ptr<const Snapshot> latest() const;

    /// Sets the function that the worker thread calls after each new snapshot, at most 60 times per second. It must
    /// only forward the news (e.g. post an event) and return.
    void setListener(std::function<void()> listener);

    /// Blocks until all posted commands are done, including generation. For tests and the command line.
    /// @return false on time-out
    bool waitIdle(double timeoutSeconds = kNoLimit);

private:
    class Worker;
    std::unique_ptr<Worker> worker_;
};

} // namespace attn
