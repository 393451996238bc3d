#include "engine/training/tasks/sequence_task.h"

#include "engine/data/tokenizer_json.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {

SequenceTask::SequenceTask(const std::vector<std::string>& symbols, int longest, uint64_t seed, double trainShare)
    : TaskInstance(symbolTokenizerJson(symbols), longest - 1), end_(static_cast<int32_t>(symbols.size())), seed_(seed),
      trainShare_(trainShare) {}

/// Draws until an example belongs to the split. If none of 1,000 does, because a task with few examples leaves the
/// split empty, uses the last one.
TaskSequence SequenceTask::drawFrom(Split split, uint64_t index) const {
    constexpr uint32_t kMostTries = 1000;
    for (uint32_t attempt = 0;; ++attempt) {
        Draws draws(seed_, index, static_cast<uint32_t>(split) << 30 | attempt);
        TaskSequence sequence = draw(draws);
        if (sequence.split) {
            if (attempt + 1 == kMostTries || *sequence.split == split) return sequence;
            continue;
        }
        const std::span<const int32_t> prompt(sequence.tokens.data(), sequence.answers.back().begin);
        const uint64_t hash = hashOf(sequence.identity.empty() ? prompt : std::span<const int32_t>(sequence.identity));
        if (attempt + 1 == kMostTries || splitOf(hash, trainShare_) == split) return sequence;
    }
}

Batch SequenceTask::batch(Split split, uint64_t index, int rows) const {
    requireRows(rows);
    const auto count = static_cast<size_t>(rows), columns = static_cast<size_t>(contextLength());
    Batch batch{.rows = rows};
    std::vector<int32_t>&inputs = batch[Batch::kInputs], &targets = batch[Batch::kTargets];
    inputs.assign(count * columns, end_);
    targets.assign(count * columns, Batch::kIgnored);
    for (size_t row = 0; row < count; ++row) {
        const TaskSequence sequence = drawFrom(split, index * count + row);
        for (size_t i = 0; i < std::min(columns, sequence.tokens.size()); ++i)
            inputs[row * columns + i] = sequence.tokens[i];
        for (const TaskSequence::Answer& answer : sequence.answers)
            for (size_t i = answer.begin; i < answer.end; ++i) targets[row * columns + i - 1] = sequence.tokens[i];
    }
    return batch;
}

Example SequenceTask::example(Split split, uint64_t index) const {
    const TaskSequence sequence = drawFrom(split, index);
    const auto [begin, end] = sequence.answers.back();
    const auto at = [&](size_t i) { return sequence.tokens.begin() + static_cast<std::ptrdiff_t>(i); };
    return {.prompt = {at(0), at(begin)}, .answer = {at(begin), at(end)}};
}

std::vector<std::string> numberSymbols(int count, const std::vector<std::string>& more) {
    std::vector<std::string> symbols;
    for (int i = 0; i < count; ++i) symbols.push_back(fmt::format("{}", i));
    symbols.insert(symbols.end(), more.begin(), more.end());
    return symbols;
}

std::vector<std::string> letterSymbols(int count, const std::vector<std::string>& more) {
    std::vector<std::string> symbols;
    for (int i = 0; i < count; ++i)
        symbols.push_back(std::string(1, static_cast<char>(i < 26 ? 'a' + i : 'A' + i - 26)));
    symbols.insert(symbols.end(), more.begin(), more.end());
    return symbols;
}

} // namespace attn
