#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/sequence_task.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace attn {
namespace {

constexpr std::array<Param, 2> kParams{{
    {"context", "Context", "Number of tokens per row", Param::Kind::Integer, 8, 512, 1, 64},
    {"symbols", "Symbols", "Number of different letters", Param::Kind::Integer, 4, 52, 1, 32},
}};

/// A random passage of distinct letters that repeats. Its length varies, so the next token follows from the letter
/// before it, not from a distance.
class Induction : public SequenceTask {
public:
    Induction(const TaskValues& values, uint64_t seed)
        : SequenceTask(letterSymbols(values.integer("symbols")), values.integer("context") + 1, seed),
          symbols_(values.integer("symbols")) {}

private:
    TaskSequence draw(Draws& draws) const override {
        constexpr int kShortest = 4;
        const int longest = std::max(kShortest, std::min(symbols_, contextLength() / 2));
        const auto period = static_cast<size_t>(draws.between(kShortest, longest));
        std::vector<int32_t> letters(static_cast<size_t>(symbols_));
        std::iota(letters.begin(), letters.end(), 0);
        draws.shuffle(std::span(letters));

        std::vector<int32_t> tokens;
        for (size_t i = 0; i <= static_cast<size_t>(contextLength()); ++i) tokens.push_back(letters[i % period]);
        const std::span<const int32_t> all(tokens);
        TaskSequence sequence;
        sequence.add(all.first(period + 1));
        sequence.addAnswer(all.subspan(period + 1));
        return sequence;
    }

    int symbols_;
};

} // namespace

constinit const Task kInductionTask{
    .id = "induction",
    .title = "Induction",
    .summary = "Continues a random passage that repeats: d h m a p f o l g e b i k d h m a p f",
    .hint = "Watch two layers work together: a head in the first attends to the previous token. A head in the second "
            "attends to the token that followed last time, on a diagonal one token short of the passage's length.",
    .citation = "Olsson et al. 2022, \"In-context Learning and Induction Heads\", arXiv:2209.11895",
    .params = kParams,
    .make = makeSeeded<Induction>,
};

} // namespace attn
