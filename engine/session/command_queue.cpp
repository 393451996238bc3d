#include "engine/session/command_queue.h"

#include "engine/analysis/analysis.h"

#include <algorithm>

namespace attn {
namespace {

template <typename T> bool is(const Command& command) { return std::holds_alternative<T>(command); }

/// Whether `newer` makes `older` unnecessary. Such commands only set a value, and the newest value counts.
bool replaces(const Command& newer, const Command& older) {
    if (newer.index() != older.index()) return false;
    if (const auto* gate = std::get_if<SetHeadGateCommand>(&newer)) {
        const auto& other = std::get<SetHeadGateCommand>(older);
        return gate->site == other.site && gate->head == other.head;
    }
    if (const auto* analysis = std::get_if<RunAnalysisCommand>(&newer))
        return analysis->analysis->key() == std::get<RunAnalysisCommand>(older).analysis->key();
    return is<SetEditsCommand>(newer) || is<SetPromptCommand>(newer) || is<SetSamplingCommand>(newer) ||
           is<PatternRequest>(newer) || is<SetProfileCommand>(newer) || is<CellRequest>(newer) ||
           is<ShowWeightCommand>(newer) || is<ShowWeightsCommand>(newer) || is<CaptureInputsCommand>(newer) ||
           is<WantUneditedCommand>(newer);
}

/// Commands that depend on values that others set: no command moves across them.
bool isFence(const Command& command) {
    return changesSequence(command) && !is<SetPromptCommand>(command) && !is<SetHeadGateCommand>(command) &&
           !is<SetEditsCommand>(command);
}

} // namespace

bool changesSequence(const Command& command) {
    return is<OpenModelCommand>(command) || is<SetPromptCommand>(command) || is<GenerateCommand>(command) ||
           is<StopCommand>(command) || is<ResetCommand>(command) || is<TakeTokenCommand>(command) ||
           is<GoToBranchCommand>(command) || is<RestoreBranchesCommand>(command) || is<SetHeadGateCommand>(command) ||
           is<SetEditsCommand>(command) || is<CaptureCommand>(command);
}

void CommandQueue::push(Command command) {
    for (auto older = commands_.rbegin(); older != commands_.rend() && !isFence(*older); ++older)
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
    std::erase_if(commands_, [](const Command& command) { return is<GenerateCommand>(command); });
}

} // namespace attn
