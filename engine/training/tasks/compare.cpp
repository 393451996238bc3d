#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/sequence_task.h"

#include <array>

namespace attn {
namespace {

constexpr std::array<Param, 2> kParams{{
    {"length", "Length", "Numbers in the list; letters name their places", Param::Kind::Integer, 2, 52, 1, 8},
    {"values", "Values", "Numbers run from 0 to one less than this", Param::Kind::Integer, 2, 100, 1, 10},
}};

/// A list of numbers, ":", two letters that name places in it, then how the first place compares with the second.
class Compare : public SequenceTask {
public:
    Compare(const TaskValues& values, uint64_t seed)
        : SequenceTask(symbolsOf(values), values.integer("length") + 5, seed), length_(values.integer("length")),
          values_(values.integer("values")) {}

private:
    static std::vector<std::string> symbolsOf(const TaskValues& values) {
        return numberSymbols(values.integer("values"), letterSymbols(values.integer("length"), {":", "<", "=", ">"}));
    }

    Sequence draw(Draws& draws) const override {
        std::vector<int32_t> list(static_cast<size_t>(length_));
        for (int32_t& value : list) value = draws.below(values_);
        const int first = draws.below(length_), second = (first + draws.between(1, length_ - 1)) % length_;
        int32_t &x = list[static_cast<size_t>(first)], &y = list[static_cast<size_t>(second)];
        if (draws.chance(1.0 / 3)) y = x; // else "=" would be rare
        const int order = x < y ? 0 : x == y ? 1 : 2;
        Sequence sequence{.tokens = list};
        const int letters = values_, colon = letters + length_;
        sequence.add(std::array{colon, letters + first, letters + second});
        sequence.addAnswer(std::array{colon + 1 + order, endToken()});
        return sequence;
    }

    int length_, values_;
};

std::unique_ptr<TaskInstance> make(const TaskValues& values, const TaskSettings& settings) {
    return std::make_unique<Compare>(values, settings.seed);
}

} // namespace

constinit const Task kCompareTask{
    .id = "compare",
    .title = "Compare",
    .summary = "Says how two numbers of a list compare, by their places: 3 1 4 : a c < (a is the first place)",
    .hint = "One head of the row before the answer looks at the place that the first letter names, another at the "
            "second's; both letters must first have found their numbers.",
    .params = kParams,
    .make = make,
};

} // namespace attn
