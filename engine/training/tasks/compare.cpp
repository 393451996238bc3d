#include "engine/training/recipe.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/sequence_task.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace attn {
namespace {

constexpr std::array<Param, 2> kParams{{
    {"length", "Length", "Numbers in the list; letters name their positions", Param::Kind::Integer, 2, 16, 1, 8},
    {"values", "Values", "Number of different values, counted from 0", Param::Kind::Integer, 2, 100, 1, 10},
}};

/// All pairs of letters. One symbol asks for two places, so that a single layer can attend to both.
std::vector<std::string> pairSymbols(int letters) {
    std::vector<std::string> pairs;
    for (const std::string& first : letterSymbols(letters))
        for (const std::string& second : letterSymbols(letters)) pairs.push_back(first + second);
    return pairs;
}

/// A list of numbers, then two letters that name places in it, then the comparison of the first with the second.
class Compare : public SequenceTask {
public:
    Compare(const TaskValues& values, uint64_t seed)
        : SequenceTask(symbolsOf(values), values.integer("length") + 3, seed), length_(values.integer("length")),
          values_(values.integer("values")) {}

private:
    static std::vector<std::string> symbolsOf(const TaskValues& values) {
        std::vector<std::string> symbols{"<", "=", ">"};
        std::ranges::copy(pairSymbols(values.integer("length")), std::back_inserter(symbols));
        return numberSymbols(values.integer("values"), symbols);
    }

    TaskSequence draw(Draws& draws) const override {
        std::vector<int32_t> list(static_cast<size_t>(length_));
        for (int32_t& value : list) value = draws.below(values_);
        const int first = draws.below(length_), second = (first + draws.between(1, length_ - 1)) % length_;
        int32_t &x = list[static_cast<size_t>(first)], &y = list[static_cast<size_t>(second)];
        if (draws.chance(1.0 / 3)) y = x; // otherwise "=" would be rare
        const int order = x < y ? 0 : x == y ? 1 : 2;
        TaskSequence sequence{.tokens = list};
        sequence.add(values_ + 3 + first * length_ + second);
        sequence.addAnswer(std::array{values_ + order, endToken()});
        return sequence;
    }

    int length_, values_;
};

} // namespace

constinit const Task kCompareTask{
    .id = "compare",
    .title = "Compare",
    .summary = "Compares two numbers of a list, given by their positions: 3 1 4 ac < (a is the first position)",
    .hint = "Watch: in the row of the two letters, one head attends to the first position and another to the second. A "
            "single head must attend to both; it finds their mean, which does not tell which number is larger.",
    .params = kParams,
    .make = makeSeeded<Compare>,
    .suggest =
        [](Recipe& recipe) {
            // one layer, so that both heads must find their place in a single step
            recipe.architecture = {.layers = 1, .heads = 2, .width = 64, .initialDeviation = 0.12};
            recipe.optimiser.decay = 0.01;
            recipe.batch = 192;
        },
};

} // namespace attn
