#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/sequence_task.h"

#include <fmt/format.h>

#include <array>
#include <numeric>

namespace attn {
namespace {

constexpr std::string_view kId = "associative-recall";

constexpr std::array<Param, 4> kParams{{
    {"pairs", "Pairs", "Number of pairs of a key and its value", Param::Kind::Integer, 1, 52, 1, 8},
    {"queries", "Queries", "Number of keys that are asked for, at most the number of pairs", Param::Kind::Integer, 1,
     52, 1, 4},
    {"keys", "Keys", "Number of letters for keys, at least the number of pairs", Param::Kind::Integer, 1, 52, 1, 26},
    {"values", "Values", "Number of different values", Param::Kind::Integer, 2, 100, 1, 10},
}};

/// Pairs with distinct keys, "?", then some of the keys again, each with its value.
class AssociativeRecall : public SequenceTask {
public:
    AssociativeRecall(const TaskValues& values, uint64_t seed)
        : SequenceTask(symbolsOf(values), 2 * (values.integer("pairs") + values.integer("queries")) + 1, seed),
          pairs_(values.integer("pairs")), queries_(values.integer("queries")), keys_(values.integer("keys")),
          values_(values.integer("values")) {}

private:
    static std::vector<std::string> symbolsOf(const TaskValues& values) {
        std::vector<std::string> others = numberSymbols(values.integer("values"), {"?"});
        return letterSymbols(values.integer("keys"), others);
    }

    TaskSequence draw(Draws& draws) const override {
        std::vector<int32_t> keys(static_cast<size_t>(keys_));
        std::iota(keys.begin(), keys.end(), 0);
        draws.shuffle(std::span(keys));
        keys.resize(static_cast<size_t>(pairs_));
        std::vector<int32_t> valueOf(static_cast<size_t>(keys_));
        TaskSequence sequence;
        for (const int32_t key : keys) {
            const int32_t value = keys_ + draws.below(values_);
            valueOf[static_cast<size_t>(key)] = value;
            sequence.add(std::array{key, value});
        }
        sequence.add(keys_ + values_); // "?"
        draws.shuffle(std::span(keys));
        for (const int32_t key : std::span(keys).first(static_cast<size_t>(queries_))) {
            sequence.add(key);
            sequence.addAnswer(valueOf[static_cast<size_t>(key)]);
        }
        return sequence;
    }

    int pairs_, queries_, keys_, values_;
};

std::unique_ptr<TaskInstance> make(const TaskValues& values, const TaskSettings& settings) {
    const int pairs = values.integer("pairs"), keys = values.integer("keys"), queries = values.integer("queries");
    if (keys < pairs)
        failParameter(kId, "keys", fmt::format("{} keys are too few for {} pairs with different keys", keys, pairs),
                      fmt::format("choose {} to 52 keys, or at most {} pairs", pairs, keys));
    if (queries > pairs)
        failParameter(kId, "queries", fmt::format("{} queries are more than {} pairs", queries, pairs),
                      fmt::format("choose 1 to {} queries", pairs));
    return std::make_unique<AssociativeRecall>(values, settings.seed);
}

} // namespace

constinit const Task kAssociativeRecallTask{
    .id = kId,
    .title = "Associative recall",
    .summary = "Remembers pairs of a letter and a number, then answers letters with their numbers: a 3 b 7 ? b 7",
    .hint = "Watch: each query attends to the value that followed the same key, like an induction head.",
    .citation = "Arora et al. 2023, \"Zoology: Measuring and Improving Recall in Efficient Language Models\", "
                "arXiv:2312.04927",
    .params = kParams,
    .make = make,
};

} // namespace attn
