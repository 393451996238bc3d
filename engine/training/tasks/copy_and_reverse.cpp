#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/sequence_task.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr std::array<Param, 3> kParams{{
    {"length", "Length", "Symbols in the longest sequence", Param::Kind::Integer, 1, 64, 1, 12},
    {"symbols", "Symbols", "Number of different letters", Param::Kind::Integer, 2, 52, 1, 26},
    {"varied", "Varied length", "Uses all lengths up to the longest", Param::Kind::Toggle, 0, 1, 1, 0},
}};

/// Letters, "=", then the same letters, forwards or backwards.
class Repeat : public SequenceTask {
public:
    Repeat(const TaskValues& values, uint64_t seed, bool isReversed)
        : SequenceTask(letterSymbols(values.integer("symbols"), {"="}), 2 * values.integer("length") + 2, seed),
          symbols_(values.integer("symbols")), length_(values.integer("length")), isVaried_(values.flag("varied")),
          isReversed_(isReversed) {}

private:
    TaskSequence draw(Draws& draws) const override {
        std::vector<int32_t> letters(static_cast<size_t>(isVaried_ ? draws.between(1, length_) : length_));
        for (int32_t& letter : letters) letter = draws.below(symbols_);
        TaskSequence sequence{.tokens = letters};
        sequence.add(symbols_);
        if (isReversed_) std::ranges::reverse(letters);
        letters.push_back(endToken());
        sequence.addAnswer(letters);
        return sequence;
    }

    int symbols_, length_;
    bool isVaried_, isReversed_;
};

template <bool isReversed> std::unique_ptr<TaskInstance> make(const TaskValues& values, const TaskSettings& settings) {
    return std::make_unique<Repeat>(values, settings.seed, isReversed);
}

} // namespace

constinit const Task kCopyTask{
    .id = "copy",
    .title = "Copy",
    .summary = "Repeats a sequence of letters, by default twelve, after the equals sign: c a b ... = c a b ...",
    .hint =
        "Watch: in the rows of the answer, one head draws a diagonal. Each row attends to its letter in the question.",
    .citation = "Graves et al. 2014, \"Neural Turing Machines\", arXiv:1410.5401, section 4.1",
    .params = kParams,
    .make = make<false>,
};

constinit const Task kReverseTask{
    .id = "reverse",
    .title = "Reverse",
    .summary =
        "Writes a sequence of letters, by default twelve, backwards after the equals sign: a m l p s u l g v g u b = "
        "b u g v g l u s p l m a",
    .hint = "Watch: in the rows of the answer, one head draws an anti-diagonal. Later rows attend to earlier letters.",
    .params = kParams,
    .make = make<true>,
};

} // namespace attn
