#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/sequence_task.h"

#include <array>

namespace attn {
namespace {

constexpr std::array<Param, 3> kParams{{
    {"items", "Items", "Number of letters to remember", Param::Kind::Integer, 1, 16, 1, 4},
    {"delay", "Delay", "Number of dots between or after the letters", Param::Kind::Integer, 0, 240, 1, 24},
    {"scattered", "Scattered", "Puts the letters between the dots instead of before them", Param::Kind::Toggle, 0, 1, 1,
     1},
}};

/// Letters and dots, "=", then only the letters.
class DelayedRecall : public SequenceTask {
public:
    DelayedRecall(const TaskValues& values, uint64_t seed)
        : SequenceTask(letterSymbols(kLetters, {".", "="}), 2 * values.integer("items") + values.integer("delay") + 2,
                       seed),
          items_(values.integer("items")), delay_(values.integer("delay")), isScattered_(values.flag("scattered")) {}

private:
    static constexpr int32_t kLetters = 26, kDot = kLetters, kEquals = kLetters + 1;

    TaskSequence draw(Draws& draws) const override {
        TaskSequence sequence;
        std::vector<int32_t> items;
        int dots = delay_;
        while (static_cast<int>(items.size()) < items_ || dots > 0) {
            const int itemsLeft = items_ - static_cast<int>(items.size());
            const bool isItem = isScattered_ ? draws.below(itemsLeft + dots) < itemsLeft : itemsLeft > 0;
            if (isItem)
                items.push_back(draws.below(kLetters));
            else
                --dots;
            sequence.add(isItem ? items.back() : kDot);
        }
        sequence.add(kEquals);
        items.push_back(endToken());
        sequence.addAnswer(items);
        return sequence;
    }

    int items_, delay_;
    bool isScattered_;
};

} // namespace

constinit const Task kDelayedRecallTask{
    .id = "delayed-recall",
    .title = "Delayed recall",
    .summary = "Repeats the letters between many dots: . c . . a . = c a",
    .hint = "Watch: the rows of the answer attend to the letters and not to the dots, however long the delay.",
    .citation = "Gu and Dao 2023, \"Mamba: Linear-Time Sequence Modeling with Selective State Spaces\", "
                "arXiv:2312.00752, section 3.1 (selective copying; without scattering, the copying task)",
    .params = kParams,
    .make = makeSeeded<DelayedRecall>,
};

} // namespace attn
