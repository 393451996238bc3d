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
    for (size_t older = commands_.size(); older-- > 0 && kindOf(commands_[older]) != CommandKind::Step;)
        if (replaces(command, commands_[older])) {
            remove(older);
            break;
        }
    commands_.push_back(std::move(command));
}

void CommandQueue::remove(size_t index) {
    commands_.erase(commands_.begin() + static_cast<std::ptrdiff_t>(index));
    if (index < earlier_) --earlier_;
}

std::optional<Command> CommandQueue::pop() {
    if (commands_.empty()) return std::nullopt;
    wasEarlier_ = earlier_ > 0;
    Command command = std::move(commands_.front());
    remove(0);
    return command;
}

void CommandQueue::dropGeneration() {
    for (size_t i = commands_.size(); i-- > 0;)
        if (std::holds_alternative<GenerateCommand>(commands_[i])) remove(i);
}

bool CommandQueue::changesInput() const {
    return std::ranges::any_of(commands_, [](const Command& each) { return attn::changesInput(each); });
}

} // namespace attn
