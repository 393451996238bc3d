#pragma once

#include "engine/session/commands.h"
#include "engine/session/snapshot.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace attn {

/// Owns every GPU object on one worker thread: commands in, immutable snapshots out. All public functions are
/// thread-safe and return at once.
///
/// Of queued commands of the same kind only the newest is kept where that loses nothing (prompt, view, sampling, cell,
/// weight, gate of the same head), so dragging a slider never builds a backlog. Errors become Snapshot::failure.
class Session {
public:
    struct Options {
        std::optional<std::string> device;  ///< index or part of the name; empty: the best
        std::optional<int> softwareThreads; ///< forces lavapipe's thread mode; empty: chosen by the model
        bool validation = false;
    };

    Session();
    explicit Session(Options options);
    ~Session(); ///< cancels what runs and joins

    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    void post(Command command);

    /// The newest snapshot; never null.
    std::shared_ptr<const Snapshot> latest() const;

    /// Called on the worker thread after each new snapshot, at most 60 times a second for visuals. The callee must only
    /// forward (e.g. post an event) and return.
    void setListener(std::function<void()> listener);

    /// Blocks until all commands posted so far are done (generation included). For tests and the command line.
    /// @return false on time-out
    bool waitIdle(double timeoutSeconds = 60);

private:
    class Worker;
    std::unique_ptr<Worker> worker_;
};

} // namespace attn
