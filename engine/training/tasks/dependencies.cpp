#include "engine/attention/position/dependency_tree.h"
#include "engine/data/draws.h"
#include "engine/data/tokenizer_json.h"
#include "engine/training/recipe.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/readout_task.h"
#include "engine/training/tasks/sequence_task.h"

#include <array>
#include <numeric>
#include <utility>

namespace attn {
namespace {

constexpr uint64_t kHeldOutRows = 512; ///< of validation and of test

constexpr std::array kParams{
    Param{"letters", "Letters", "Number of different words; each is a letter", Param::Kind::Integer, 3, 26, 1, 8}};

/// Random letters, and a random tree over them. The class of each letter is the letter on which it depends; of the
/// root, its own.
class Dependencies : public ReadoutTask {
public:
    Dependencies(const TaskValues& values, uint64_t seed)
        : ReadoutTask(symbolTokenizerJson(letterSymbols(values.integer("letters"))), kWords, kWords, kHeldOutRows,
                      seed),
          letters_(values.integer("letters")) {}

    std::vector<std::string> labels() const override { return letterSymbols(letters_); }

private:
    static constexpr int kWords = static_cast<int>(kExampleTree.size());

    ReadoutRow rowAt(Split split, uint64_t index) const override {
        ReadoutRow row;
        for (uint32_t attempt = 0; row.tokens.empty() || splitOf(hashOf(row.tokens)) != split; ++attempt) {
            Draws draws(seed(), index, static_cast<uint32_t>(split) << 30 | attempt);
            row.tokens.clear();
            for (int word = 0; word < kWords; ++word) row.tokens.push_back(draws.below(letters_));
            row.parents = drawnTree(draws);
        }
        for (size_t word = 0; word < row.tokens.size(); ++word) {
            const int32_t parent = row.parents[word];
            row.targets.push_back(row.tokens[parent == 0 ? word : static_cast<size_t>(parent) - 1]);
        }
        return row;
    }

    /// In a random order of the words, the first is the root, and each other one depends on one before it.
    static std::vector<int32_t> drawnTree(Draws& draws) {
        std::vector<int32_t> order(kWords), parents(kWords);
        std::iota(order.begin(), order.end(), 0);
        for (int at = 0; at < kWords; ++at) {
            std::swap(order[static_cast<size_t>(at)], order[static_cast<size_t>(at + draws.below(kWords - at))]);
            const auto word = static_cast<size_t>(order[static_cast<size_t>(at)]);
            parents[word] = at == 0 ? 0 : order[static_cast<size_t>(draws.below(at))] + 1;
        }
        return parents;
    }

    int letters_;
};

} // namespace

constinit const Task kDependenciesTask{
    .id = "dependencies",
    .title = "Dependencies",
    .summary =
        "Names for each letter the letter on which it depends, in a tree that is drawn for each example and given "
        "beside its letters: a c b d a e f g, with the tree 2, 3, 0, 5, 3, 8, 8, 5 -> c b b a b g g a",
    .hint = "Watch: with position=dependency_tree, each letter attends to the one above it in the tree. Other "
            "positions do not read the tree, so the model cannot know which letter that is.",
    .params = kParams,
    .metric = Task::Metric::TokenMatch,
    .metricName = "accuracy",
    .readout = TextReadout::TokenClass,
    .make = makeSeeded<Dependencies>,
    .suggest =
        [](Recipe& recipe) {
            recipe.architecture.layers = 1;
            recipe.architecture.heads = 2;
            recipe.architecture.width = 32;
            recipe.architecture.attention = "position=dependency_tree";
            recipe.architecture.initialDeviation = 0.1;
            recipe.schedule = {.rate = 1e-2, .warmUp = 20, .steps = 400};
            recipe.evaluateEvery = 50;
        },
};

} // namespace attn
