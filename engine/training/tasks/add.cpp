#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/sequence_task.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr std::array<Param, 2> kParams{{
    {"digits", "Digits", "Digits of each of the two numbers", Param::Kind::Integer, 1, 12, 1, 3},
    {"reversed", "Lowest digit first",
     "Writes the sum in the order in which carries arise, which is much easier to learn", Param::Kind::Toggle, 0, 1, 1,
     1},
}};

/// Two numbers with leading zeros, then their sum with one digit more.
class Add : public SequenceTask {
public:
    Add(const TaskValues& values, uint64_t seed)
        : SequenceTask(numberSymbols(10, {"+", "="}), 3 * values.integer("digits") + 4, seed),
          digits_(static_cast<size_t>(values.integer("digits"))), isReversed_(values.flag("reversed")) {}

private:
    static constexpr int32_t kPlus = 10, kEquals = 11;

    TaskSequence draw(Draws& draws) const override {
        std::vector<int32_t> a(digits_), b(digits_);
        for (int32_t& digit : a) digit = draws.below(10);
        for (int32_t& digit : b) digit = draws.below(10);
        // Random digits seldom carry far. In one example of four, most columns add up to 9 and pass a carry on.
        if (draws.chance(0.25))
            for (size_t i = 0; i < digits_; ++i)
                if (draws.chance(0.8)) b[i] = 9 - a[i];

        std::vector<int32_t> sum(digits_ + 1);
        int carry = 0;
        for (size_t i = digits_; i-- > 0;) {
            const int column = a[i] + b[i] + carry;
            sum[i + 1] = column % 10;
            carry = column / 10;
        }
        sum[0] = carry;
        if (isReversed_) std::ranges::reverse(sum);
        sum.push_back(endToken());

        TaskSequence sequence{.tokens = a};
        sequence.add(kPlus);
        sequence.add(b);
        sequence.add(kEquals);
        sequence.addAnswer(sum);
        // a + b and b + a are one example.
        const auto [low, high] = std::minmax(a, b);
        sequence.identity = low;
        sequence.identity.insert(sequence.identity.end(), high.begin(), high.end());
        return sequence;
    }

    size_t digits_;
    bool isReversed_;
};

} // namespace

constinit const Task kAddTask{
    .id = "add",
    .title = "Add two numbers",
    .summary =
        "Adds two numbers digit by digit, by default of three digits with the lowest first: 7 8 6 + 8 8 9 = 5 7 6 1",
    .hint = "Watch: each answer digit attends to its column in both numbers. A second head attends one column lower, "
            "where the carry comes from.",
    .citation = "Lee et al. 2023, \"Teaching Arithmetic to Small Transformers\", arXiv:2307.03381",
    .params = kParams,
    .make = makeSeeded<Add>,
};

} // namespace attn
