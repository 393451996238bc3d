#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/sequence_task.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr std::array<Param, 2> kParams{{
    {"modulus", "Modulus", "Number of different values, counted from 0", Param::Kind::Integer, 2, 211, 1, 59},
    {"share", "Trained share", "Share of all pairs used for training; the rest is held out", Param::Kind::Real, 0.1,
     0.95, 0.05, 0.6},
}};

class ModularAddition : public SequenceTask {
public:
    ModularAddition(const TaskValues& values, uint64_t seed)
        : SequenceTask(numberSymbols(values.integer("modulus"), {"+", "="}), 6, seed, values.real("share")),
          modulus_(values.integer("modulus")) {}

private:
    TaskSequence draw(Draws& draws) const override {
        const int32_t a = draws.below(modulus_), b = draws.below(modulus_);
        TaskSequence sequence{.tokens = {a, modulus_, b, modulus_ + 1}};
        sequence.addAnswer(std::array{(a + b) % modulus_, endToken()});
        sequence.identity = {std::min(a, b), std::max(a, b)}; // a + b and b + a are one example
        return sequence;
    }

    int modulus_;
};

} // namespace

constinit const Task kModularAdditionTask{
    .id = "modular-addition",
    .title = "Modular addition",
    .summary = "Adds two numbers and wraps around at the modulus: 50 + 20 = 11 for modulus 59",
    .hint = "Watch: accuracy on held-out pairs rises long after accuracy on trained pairs (grokking). In the last row, "
            "heads attend equally to both numbers, and the embedding becomes waves of a few frequencies.",
    .citation = "Nanda et al. 2023, \"Progress measures for grokking via mechanistic interpretability\", "
                "arXiv:2301.05217",
    .params = kParams,
    .make = makeSeeded<ModularAddition>,
};

} // namespace attn
