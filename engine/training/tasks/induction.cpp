#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/sequence_task.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace attn {
namespace {

constexpr std::array<Param, 2> kParams{{
    {"context", "Context", "Tokens in a row", Param::Kind::Integer, 8, 512, 1, 64},
    {"symbols", "Symbols", "Letters to choose from", Param::Kind::Integer, 4, 52, 1, 32},
}};

/// A random passage of distinct letters, over and over. Its length varies, so that the token to repeat is found by what
/// came before it and not by its distance.
class Induction : public SequenceTask {
public:
    Induction(const TaskValues& values, uint64_t seed)
        : SequenceTask(letterSymbols(values.integer("symbols")), values.integer("context") + 1, seed),
          symbols_(values.integer("symbols")) {}

private:
    Sequence draw(Draws& draws) const override {
        constexpr int kShortest = 4;
        const int longest = std::max(kShortest, std::min(symbols_, contextLength() / 2));
        const auto period = static_cast<size_t>(draws.between(kShortest, longest));
        std::vector<int32_t> letters(static_cast<size_t>(symbols_));
        std::iota(letters.begin(), letters.end(), 0);
        draws.shuffle(std::span(letters));

        std::vector<int32_t> tokens;
        for (size_t i = 0; i <= static_cast<size_t>(contextLength()); ++i) tokens.push_back(letters[i % period]);
        const std::span<const int32_t> all(tokens);
        Sequence sequence;
        sequence.add(all.first(period + 1));
        sequence.addAnswer(all.subspan(period + 1));
        return sequence;
    }

    int symbols_;
};

std::unique_ptr<TaskInstance> make(const TaskValues& values, const TaskSettings& settings) {
    return std::make_unique<Induction>(values, settings.seed);
}

} // namespace

constinit const Task kInductionTask{
    .id = "induction",
    .title = "Induction",
    .summary = "Goes on with a random passage that repeats: k d x a k d x a k d",
    .hint = "Two layers work together: a head of the first attends to the token before, and a head of the second to "
            "the token that followed the last time, a diagonal one short of the passage's length.",
    .citation = "Olsson et al. 2022, \"In-context Learning and Induction Heads\", arXiv:2209.11895",
    .params = kParams,
    .make = make,
};

} // namespace attn
