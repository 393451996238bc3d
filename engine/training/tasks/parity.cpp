#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/sequence_task.h"

#include <array>

namespace attn {
namespace {

constexpr std::array<Param, 2> kParams{{
    {"length", "Length", "Bits in the longest sequence; every length occurs", Param::Kind::Integer, 1, 120, 1, 16},
    {"running", "Running parity",
     "Answers with the parity after each bit. If off, asks only for the last parity, which is hard to learn",
     Param::Kind::Toggle, 0, 1, 1, 1},
}};

/// Bits, "=", then 1 if the number of ones so far is odd and 0 if it is even, after each bit or after all bits.
class Parity : public SequenceTask {
public:
    Parity(const TaskValues& values, uint64_t seed)
        : SequenceTask(numberSymbols(2, {"="}),
                       values.integer("length") + 2 + (values.flag("running") ? values.integer("length") : 1), seed),
          length_(values.integer("length")), isRunning_(values.flag("running")) {}

private:
    TaskSequence draw(Draws& draws) const override {
        TaskSequence sequence;
        std::vector<int32_t> parities;
        int32_t parity = 0;
        for (int left = draws.between(1, length_); left > 0; --left) {
            const int32_t bit = draws.below(2);
            parity ^= bit;
            sequence.add(bit);
            parities.push_back(parity);
        }
        sequence.add(2); // "="
        if (!isRunning_) parities = {parity};
        parities.push_back(endToken());
        sequence.addAnswer(parities);
        return sequence;
    }

    int length_;
    bool isRunning_;
};

} // namespace

constinit const Task kParityTask{
    .id = "parity",
    .title = "Parity",
    .summary = "Answers after each bit whether the number of ones so far is odd: 1 0 1 1 = 1 1 0 1",
    .hint = "Watch: with running parity, each row attends to one bit and to the previous parity. Without it, attention "
            "must "
            "spread over all bits, and a single flipped bit hardly changes the mean.",
    .citation = "Hahn 2020, \"Theoretical Limitations of Self-Attention in Neural Sequence Models\", arXiv:1906.06755",
    .params = kParams,
    .make = makeSeeded<Parity>,
};

} // namespace attn
