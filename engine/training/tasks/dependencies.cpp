#include "engine/attention/position/dependency_tree.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/draws.h"
#include "engine/training/tasks/readout_task.h"
#include "engine/training/tasks/sequence_task.h"
#include "engine/training/tasks/tokenizer_json.h"

#include <array>

namespace attn {
namespace {

constexpr uint64_t kHeldOutRows = 512; ///< of validation and of test

constexpr std::array kParams{
    Param{"letters", "Letters", "Number of different words; each is a letter", Param::Kind::Integer, 3, 26, 1, 8}};

/// Random letters in the places of a tree that is the same for all rows. The class of each is the letter on which it
/// depends; of the root, its own.
class Dependencies : public ReadoutTask {
public:
    Dependencies(const TaskValues& values, uint64_t seed)
        : ReadoutTask(symbolTokenizerJson(letterSymbols(values.integer("letters"))), kWords, kWords, kHeldOutRows,
                      seed),
          tree_(kExampleTree), letters_(values.integer("letters")) {}

    std::vector<std::string> labels() const override { return letterSymbols(letters_); }

private:
    static constexpr int kWords = static_cast<int>(kExampleTree.size());

    ReadoutRow rowAt(Split split, uint64_t index) const override {
        ReadoutRow row;
        for (uint32_t attempt = 0; row.tokens.empty() || splitOf(hashOf(row.tokens)) != split; ++attempt) {
            Draws draws(seed(), index, static_cast<uint32_t>(split) << 30 | attempt);
            row.tokens.clear();
            for (int word = 0; word < kWords; ++word) row.tokens.push_back(draws.below(letters_));
        }
        for (int64_t word = 0; word < tree_.end(); ++word)
            row.targets.push_back(row.tokens[static_cast<size_t>(tree_.parentOf(word))]);
        return row;
    }

    DependencyTree tree_;
    int letters_;
};

} // namespace

constinit const Task kDependenciesTask{
    .id = "dependencies",
    .title = "Dependencies",
    .summary =
        "Names for each letter the letter on which it depends, in the tree of the sentence \"The student reads a "
        "book about old trees\", of which the letters take the places: a c b d a e f g -> c b b a b g g a",
    .hint = "Watch: with position=dependency_tree, each letter attends to the one above it in the tree. Without "
            "positions the model cannot know which letter that is.",
    .params = kParams,
    .metric = Task::Metric::TokenMatch,
    .metricName = "accuracy",
    .readout = TextReadout::TokenClass,
    .make = makeSeeded<Dependencies>,
};

} // namespace attn
