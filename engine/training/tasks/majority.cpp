#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/sequence_task.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr std::array<Param, 3> kParams{{
    {"length", "Length", "Letters in the longest sequence", Param::Kind::Integer, 1, 120, 1, 15},
    {"symbols", "Symbols", "Number of different letters", Param::Kind::Integer, 2, 26, 1, 2},
    {"varied", "Varied length", "Uses all lengths up to the longest", Param::Kind::Toggle, 0, 1, 1, 1},
}};

/// Letters, "=", then the most frequent letter; never a tie.
class Majority : public SequenceTask {
public:
    Majority(const TaskValues& values, uint64_t seed)
        : SequenceTask(letterSymbols(values.integer("symbols"), {"="}), values.integer("length") + 3, seed),
          symbols_(values.integer("symbols")), length_(values.integer("length")), isVaried_(values.flag("varied")) {}

private:
    TaskSequence draw(Draws& draws) const override {
        std::vector<int32_t> letters(static_cast<size_t>(isVaried_ ? draws.between(1, length_) : length_));
        std::vector<int> counts;
        do {
            counts.assign(static_cast<size_t>(symbols_), 0);
            for (int32_t& letter : letters) {
                letter = draws.below(symbols_);
                ++counts[static_cast<size_t>(letter)];
            }
        } while (std::ranges::count(counts, *std::ranges::max_element(counts)) > 1);
        TaskSequence sequence{.tokens = letters};
        sequence.add(symbols_); // "="
        const auto winner = static_cast<int32_t>(std::ranges::max_element(counts) - counts.begin());
        sequence.addAnswer(std::array{winner, endToken()});
        return sequence;
    }

    int symbols_, length_;
    bool isVaried_;
};

} // namespace

constinit const Task kMajorityTask{
    .id = "majority",
    .title = "Majority",
    .summary = "Finds the most frequent letter: a b a a b = a",
    .hint = "Watch: the equals sign attends evenly to all letters. The mean of their values is a vote.",
    .citation = "Merrill et al. 2022, \"Saturated Transformers are Constant-Depth Threshold Circuits\", "
                "arXiv:2106.16213",
    .params = kParams,
    .successLevel = 0.95,
    .make = makeSeeded<Majority>,
};

} // namespace attn
