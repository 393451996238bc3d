#include "engine/data/draws.h"
#include "engine/data/story_writer.h"
#include "engine/data/tokenizer_json.h"
#include "engine/training/recipe.h"
#include "engine/training/tasks/catalogue.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

namespace attn {
namespace {

using stories::Story;

constexpr std::array<Param, 2> kParams{{
    {"context", "Context", "Number of tokens per row; most stories fit into 160", Param::Kind::Integer, 48, 1024, 1,
     160},
    {"invented", "Invented names", "Share of stories about someone with an invented name, spelt in letters",
     Param::Kind::Real, 0, 1, 0.01, 0.1},
}};

/// Rows are consecutive stories, each after an end-of-text token. Examples ask for a pronoun at places where no other
/// word is right. Validation and test ask only about persons, or pairs of a person or thing and a sentence, that
/// training never shows. If there are invented names, half of these examples come from stories about them.
class Stories : public TaskInstance {
public:
    Stories(const TaskValues& values, uint64_t seed)
        : TaskInstance(wordTokenizerJson(stories::letters(), stories::vocabulary()), values.integer("context")),
          seed_(seed), inventedShare_(values.real("invented")), end_(tokenizer().endId().value()) {
        for (int id = 0; id < vocabularySize(); ++id) ids_.emplace(tokenizer().tokenText(id), id);
    }

    Batch batch(Split split, uint64_t index, int rows) const override {
        requireRows(rows);
        const auto count = static_cast<size_t>(rows), columns = static_cast<size_t>(contextLength());
        Batch batch{.rows = rows};
        std::vector<int32_t>&inputs = batch[Batch::kInputs], &targets = batch[Batch::kTargets];
        std::vector<int32_t> tokens;
        for (size_t row = 0; row < count; ++row) {
            tokens.clear();
            for (uint32_t attempt = 0; tokens.size() <= columns;) {
                tokens.push_back(end_);
                const Story story = next(split, index * count + row, attempt, inventedShare_);
                encode(story.text, [&](int32_t id, size_t) { tokens.push_back(id); });
            }
            const auto begin = tokens.begin(), end = begin + static_cast<std::ptrdiff_t>(columns);
            inputs.insert(inputs.end(), begin, end);
            targets.insert(targets.end(), begin + 1, end + 1);
        }
        return batch;
    }

    Example example(Split split, uint64_t index) const override {
        const double inventedShare = split == Split::Train ? inventedShare_ : inventedShare_ > 0 ? 0.5 : 0;
        for (uint32_t attempt = kExampleAttempts;;) {
            const Story story = next(split, index, attempt, inventedShare);
            std::vector<int32_t> ids;
            std::vector<size_t> ends; // offsets in the text
            encode(story.text, [&](int32_t id, size_t end) {
                ids.push_back(id);
                ends.push_back(end);
            });
            std::vector<std::ptrdiff_t> places; // tokens that an example may ask for
            for (const Story::Slot& slot : story.slots) {
                const std::ptrdiff_t place = std::ranges::upper_bound(ends, slot.at) - ends.begin();
                // The end-of-text token comes first.
                if (slot.split == split && place + 1 <= contextLength()) places.push_back(place);
            }
            if (places.empty()) continue;
            Draws draws(seed_, index, attempt | kChoice);
            const std::ptrdiff_t place = draws.pick(std::span<const std::ptrdiff_t>(places));
            Example example{.prompt = {end_}, .answer = {ids[static_cast<size_t>(place)]}};
            example.prompt.insert(example.prompt.end(), ids.begin(), ids.begin() + place);
            return example;
        }
    }

private:
    /// Gives the same ids as the tokenizer, ten times as fast. Stories contain only letters, single spaces and
    /// punctuation.
    /// @param add called with each id and the offset at which its text ends
    template <class Add> void encode(std::string_view text, const Add& add) const {
        const auto isLetter = [](char byte) { return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'); };
        std::string piece;
        for (size_t at = 0; at < text.size();) {
            size_t end = at + (text[at] == ' ');
            const bool isWord = isLetter(text[end]);
            while (end < text.size() && text[end] != ' ' && isLetter(text[end]) == isWord) ++end;
            piece.assign(at == 0 ? " " : "").append(text.substr(at, end - at));
            if (const auto found = ids_.find(piece); found != ids_.end()) {
                add(found->second, end);
            } else {
                const size_t begin = end - piece.size();
                for (size_t i = 0; i < piece.size(); ++i) add(ids_.at(std::string(1, piece[i])), begin + i + 1);
            }
            at = end;
        }
    }

    static constexpr uint32_t kExampleAttempts = 1 << 28, kChoice = 1 << 29; // separate from the streams of batches

    /// Draws until a story belongs to the split and contains no slot of another held-out split.
    Story next(Split split, uint64_t index, uint32_t& attempt, double inventedShare) const {
        constexpr double kTrainShare = 0.6; // there are enough stories for every split
        for (;;) {
            Draws draws(seed_, index, static_cast<uint32_t>(split) << 30 | attempt++);
            Story story = stories::write(draws, inventedShare);
            const bool fits = std::ranges::all_of(story.slots, [&](const Story::Slot& slot) {
                return slot.split == Split::Train || slot.split == split;
            });
            if (fits && splitOf(hashOf(story.text), kTrainShare) == split) return story;
        }
    }

    uint64_t seed_;
    double inventedShare_;
    int32_t end_;
    std::unordered_map<std::string, int32_t> ids_; ///< by text
};

} // namespace

constinit const Task kStoriesTask{
    .id = "stories",
    .title = "Stories",
    .summary = "Tells simple stories in English and keeps track of people: when Tom saw the kite, he ...",
    .hint = "Watch: at a pronoun, a head attends to the person it refers to, past people who came later. When a thing "
            "appears again, a head finds its color, its place or the agreed day.",
    .params = kParams,
    .metricName = "pronoun agreement",
    .successLevel = 0.95,
    .make = makeSeeded<Stories>,
    .suggest =
        [](Recipe& recipe) {
            recipe.architecture = {.family = "llama", .layers = 5, .heads = 8, .keyValueHeads = 4, .width = 128};
            recipe.schedule = {.rate = 4e-3, .finalRate = 1e-4, .warmUp = 100, .steps = 2500};
            recipe.batch = 8;
        },
};

} // namespace attn
