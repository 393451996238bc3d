#pragma once

#include "engine/session/commands.h"

#include <deque>
#include <optional>

namespace attn {

/// Commands waiting for the worker. A new command replaces an older one of the same tag when nothing between them
/// depends on it. Not thread-safe: the worker guards it.
class CommandQueue {
public:
    void push(Command command);
    std::optional<Command> pop();
    bool empty() const { return commands_.empty(); }
    size_t size() const { return commands_.size(); }
    /// Drops queued generation, as Stop asks.
    void dropGeneration();

private:
    std::deque<Command> commands_;
};

/// Whether running this ends a generation that is under way.
bool changesSequence(const Command& command);

} // namespace attn
