#pragma once

#include "engine/session/commands.h"

#include <deque>
#include <optional>

namespace attn {

/// The commands that wait for the worker. A new command replaces an older one of the same tag if no command between
/// them depends on it. Not thread-safe: the worker locks it.
class CommandQueue {
public:
    void push(Command command);
    std::optional<Command> pop();
    /// Says of all commands that wait that they were meant for an earlier model.
    void markEarlier() { earlier_ = commands_.size(); }
    bool wasEarlier() const { return wasEarlier_; } ///< whether this was said of the last command of pop()
    bool changesInput() const;                      ///< whether a command waits that does: see attn::changesInput()
    bool empty() const { return commands_.empty(); }
    size_t size() const { return commands_.size(); }
    /// Removes queued generation, for Stop.
    void dropGeneration();

private:
    void remove(size_t index);

    std::deque<Command> commands_;
    size_t earlier_ = 0; ///< how many of the first ones
    bool wasEarlier_ = false;
};

/// Whether a command ends generation that is running.
bool changesSequence(const Command& command);
/// Whether a command sets another input or other changes, so that the results of analyses become old.
bool changesInput(const Command& command);

} // namespace attn
