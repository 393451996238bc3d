#include "engine/session/command_queue.h"

#include "engine/analysis/analysis.h"

#include <algorithm>

namespace attn {
namespace {

CommandKind kindOf(const Command& command) {
    return std::visit(
        []<class T>(const T&) {
            if constexpr (requires { T::kKind; })
                return T::kKind;
            else
                return CommandKind::Value;
        },
        command);
}

/// Whether `newer` makes `older` unnecessary: both set the same value.
bool replaces(const Command& newer, const Command& older) {
    if (newer.index() != older.index() || kindOf(newer) == CommandKind::Step) return false;
    const auto* analysis = std::get_if<RunAnalysisCommand>(&newer);
    return !analysis || analysis->analysis->key() == std::get<RunAnalysisCommand>(older).analysis->key();
}

} // namespace

bool changesSequence(const Command& command) { return kindOf(command) != CommandKind::Value; }
bool changesInput(const Command& command) { return kindOf(command) == CommandKind::RunValue; }

void CommandQueue::push(Command command) {
    for (auto older = commands_.rbegin(); older != commands_.rend() && kindOf(*older) != CommandKind::Step; ++older)
        if (replaces(command, *older)) {
            commands_.erase(std::next(older).base());
            break;
        }
    commands_.push_back(std::move(command));
}

std::optional<Command> CommandQueue::pop() {
    if (commands_.empty()) return std::nullopt;
    Command command = std::move(commands_.front());
    commands_.pop_front();
    return command;
}

void CommandQueue::dropGeneration() {
    std::erase_if(commands_, [](const Command& command) { return std::holds_alternative<GenerateCommand>(command); });
}

} // namespace attn
