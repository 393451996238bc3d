#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/sequence_task.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr std::array<Param, 3> kParams{{
    {"length", "Length", "Numbers in the longest list", Param::Kind::Integer, 1, 64, 1, 6},
    {"values", "Values", "Number of different values, counted from 0", Param::Kind::Integer, 2, 100, 1, 10},
    {"varied", "Varied length", "Uses all lengths up to the longest", Param::Kind::Toggle, 0, 1, 1, 0},
}};

class Sort : public SequenceTask {
public:
    Sort(const TaskValues& values, uint64_t seed)
        : SequenceTask(numberSymbols(values.integer("values"), {"="}), 2 * values.integer("length") + 2, seed),
          values_(values.integer("values")), length_(values.integer("length")), isVaried_(values.flag("varied")) {}

private:
    TaskSequence draw(Draws& draws) const override {
        std::vector<int32_t> list(static_cast<size_t>(isVaried_ ? draws.between(1, length_) : length_));
        for (int32_t& value : list) value = draws.below(values_);
        TaskSequence sequence{.tokens = list};
        sequence.add(values_); // "="
        std::ranges::sort(list);
        list.push_back(endToken());
        sequence.addAnswer(list);
        return sequence;
    }

    int values_, length_;
    bool isVaried_;
};

} // namespace

constinit const Task kSortTask{
    .id = "sort",
    .title = "Sort",
    .summary = "Writes a list of numbers, by default six, in rising order: 5 2 9 2 7 4 = 2 2 4 5 7 9",
    .hint = "Watch: each answer row attends to the copies of the next larger number, wherever they are. The pattern "
            "follows the values, not the positions.",
    .params = kParams,
    .make = makeSeeded<Sort>,
};

} // namespace attn
