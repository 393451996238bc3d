#include "engine/training/tasks/translation.h"

#include "engine/core/error.h"
#include "engine/data/bpe_learner.h"
#include "engine/data/parallel_text.h"
#include "engine/data/text_parts.h"
#include "engine/text/speller.h"
#include "engine/text/utf8.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

namespace attn {
namespace {

constexpr uint64_t kSample = 4000;                   ///< pairs from which a vocabulary is learned
constexpr size_t kMostSampleBytes = size_t{4} << 20; ///< of these pairs
constexpr int kLongestDrawn = 512;                   ///< tokens; no number or date has more
constexpr uint32_t kMostAttempts = 1000;             ///< to draw a pair that is in the split and short enough

/// The pairs of an endless task, each drawn by its index.
class DrawnPairs : public PairSource {
public:
    struct Drawn {
        TextPair pair;
        bool isBasic = false; ///< only for training: others are made of such pairs
    };
    using Draw = std::function<Drawn(Draws&)>;
    DrawnPairs(Draw draw, uint64_t seed) : draw_(std::move(draw)), seed_(seed) {}

    TextPair at(Split split, uint64_t index, uint32_t attempt) const override {
        for (uint32_t round = 0;; ++round) {
            Draws draws(seed_, index, static_cast<uint32_t>(split) << 30 | attempt << 15 | round);
            Drawn drawn = draw_(draws);
            const Split own = drawn.isBasic ? Split::Train : splitOf(hashOf(drawn.pair.source));
            if (own == split || round == kMostAttempts) return std::move(drawn.pair);
        }
    }
    std::optional<uint64_t> count(Split) const override { return std::nullopt; }

private:
    Draw draw_;
    uint64_t seed_;
};

/// The pairs of a file. Training draws them at random; the others come in order.
class ListedPairs : public PairSource {
public:
    ListedPairs(std::vector<TextPair> pairs, uint64_t seed) : seed_(seed) {
        for (TextPair& pair : pairs) {
            const Split split = splitOf(hashOf(pair.source), 0.9);
            splits_[static_cast<size_t>(split)].push_back(std::move(pair));
        }
    }
    TextPair at(Split split, uint64_t index, uint32_t attempt) const override {
        const std::vector<TextPair>& all = of(split);
        if (split != Split::Train) return index < all.size() ? all[index] : TextPair{};
        return all[static_cast<size_t>(Draws(seed_, index, attempt).below(static_cast<int>(all.size())))];
    }
    std::optional<uint64_t> count(Split split) const override {
        return split == Split::Train ? std::nullopt : std::optional<uint64_t>(of(split).size());
    }
    const std::vector<TextPair>& of(Split split) const { return splits_[static_cast<size_t>(split)]; }

private:
    std::array<std::vector<TextPair>, 3> splits_;
    uint64_t seed_;
};

constexpr Param kReversed{"reversed",
                          "Reversed source",
                          "Gives the encoder the source from its end to its beginning",
                          Param::Kind::Toggle,
                          0,
                          1,
                          1,
                          0};
constexpr Param merges(double initial) {
    return {"merges",
            "Merges",
            "Frequent pairs of pieces that become one piece of the vocabulary",
            Param::Kind::Integer,
            0,
            30000,
            1,
            initial};
}

/// Pairs that stand for all of the training split.
std::vector<TextPair> sampleOf(const PairSource& pairs) {
    std::vector<TextPair> sample;
    size_t bytes = 0;
    for (uint64_t index = 0; index < kSample && bytes < kMostSampleBytes; ++index) {
        sample.push_back(pairs.at(Split::Train, index, 0));
        bytes += sample.back().source.size() + sample.back().target.size();
    }
    return sample;
}

/// A translation whose vocabulary is learned from a sample of its pairs.
std::unique_ptr<TaskInstance> fromSample(std::unique_ptr<const PairSource> pairs, const TaskValues& values, int longest,
                                         const StopPoint& stopPoint) {
    std::string text;
    for (const TextPair& pair : sampleOf(*pairs)) text += pair.source + "\n" + pair.target + "\n";
    std::string json =
        byteLevelTokenizerJson(learnBpe(text, values.integer("merges"), stopPoint), {std::string(kEndOfText)});
    return Translation::make(std::move(pairs), std::move(json), longest, values.flag("reversed"));
}

// Numbers -------------------------------------------------------------------------------------------------------------

constexpr std::array<Param, 2> kNumberParams{{
    {"digits", "Digits", "Digits of the largest number", Param::Kind::Integer, 3, 12, 1, 6},
    kReversed,
}};

/// A vocabulary whose pieces are the words of which numbers consist, such as "drei" and "hundert": they are learned for
/// each language from numbers in which only single words recur, because what recurs becomes a piece. Every character is
/// a piece too.
std::string numberWords(std::initializer_list<const Speller*> languages, int digits) {
    constexpr int kMostMerges = 1000;
    std::set<std::string> pieces;
    for (const Speller* language : languages) {
        std::string text;
        const auto add = [&](const std::string& word) { text += word + "\n"; };
        for (int round = 0; round < 2; ++round)
            for (int64_t number = 0; number < 100; number += number < 20 ? 1 : 10) add(language->number(number));
        for (int64_t digit = 1; digit <= 9; ++digit) { // no digit has the same neighbour twice, and none is zero
            int64_t number = digit;
            for (const int64_t step : {3, 5, 7}) number = 10 * number + (digit + step) % 9 + 1;
            add(language->number(number));
        }
        for (int64_t place = 1'000'000; place < std::pow(10, digits); place *= 1000)
            for (int64_t digit = 1; digit < 10; ++digit) add(language->number(digit * place));
        for (const auto& [left, right] : learnBpe(text, kMostMerges))
            if (std::string piece = left + right; !utf8::firstInvalid(piece) && piece.find('\n') == piece.npos) {
                if (piece.front() == ' ') piece.erase(0, 1);
                pieces.insert({piece, " " + piece}); // within a word, and at its beginning
            }
        for (int64_t number = 1; number < 1e12 && number < std::pow(10, digits); number = 7 * number + 3)
            text += language->number(number); // has rarer characters
        for (size_t at = 0; at < text.size();)
            if (const char32_t character = utf8::next(text, at); character != U'\n')
                pieces.insert(utf8::encode(character));
    }
    return pieceTokenizerJson({pieces.begin(), pieces.end()}, {std::string(kEndOfText)});
}

std::unique_ptr<TaskInstance> makeNumbers(const TaskValues& values, const TaskSettings& settings) {
    const auto [from, to] = languagePair("numbers", settings.data.languages);
    const auto source = std::make_shared<const Speller>(from), target = std::make_shared<const Speller>(to);
    const int digits = values.integer("digits");
    const auto draw = [=](Draws& draws) {
        int64_t number = 0; // as many numbers of each length, or short ones would be rare
        for (int left = draws.between(1, digits); left > 0; --left) number = 10 * number + draws.below(10);
        return DrawnPairs::Drawn{{source->number(number), target->number(number)}, number < 100};
    };
    return Translation::make(std::make_unique<DrawnPairs>(draw, settings.seed),
                             numberWords({source.get(), target.get()}, digits), kLongestDrawn, values.flag("reversed"));
}

// Dates ---------------------------------------------------------------------------------------------------------------

constexpr std::array<Param, 3> kDateParams{{
    {"years", "Years", "Number of years, the last of which is 2050", Param::Kind::Integer, 1, 1000, 1, 100},
    merges(240),
    kReversed,
}};

std::unique_ptr<TaskInstance> makeDates(const TaskValues& values, const TaskSettings& settings) {
    const auto [from, to] = languagePair("dates", settings.data.languages);
    const auto source = std::make_shared<const Speller>(from), target = std::make_shared<const Speller>(to);
    constexpr int kLastDay = 29584; // 31 December 2050
    const int days = static_cast<int>(values.integer("years") * 365.2425);
    const auto draw = [=](Draws& draws) {
        const int day = kLastDay - draws.below(days);
        return DrawnPairs::Drawn{{source->date(day), target->date(day)}};
    };
    return fromSample(std::make_unique<DrawnPairs>(draw, settings.seed), values, kLongestDrawn,
                      settings.data.stopPoint);
}

// Parallel text -------------------------------------------------------------------------------------------------------

constexpr std::array<Param, 3> kTextParams{{
    {"context", "Context", "Largest number of tokens of a source and of a target; longer pairs are left out",
     Param::Kind::Integer, 4, 512, 4, 48},
    merges(2000),
    kReversed,
}};

[[noreturn]] void refuseContext(int context) {
    throw Error({.what = fmt::format("hardly any pair of the text fits into {} tokens", context),
                 .where = "context",
                 .hint = "choose a longer context, or a text of shorter pairs"});
}

std::unique_ptr<TaskInstance> fromList(std::string_view task, std::vector<TextPair> list, const TaskValues& values,
                                       const TaskSettings& settings) {
    const int context = values.integer("context");
    const size_t mostBytes = static_cast<size_t>(context) * kMostBytesPerToken;
    std::erase_if(list,
                  [&](const TextPair& pair) { return std::max(pair.source.size(), pair.target.size()) > mostBytes; });
    if (list.empty()) refuseContext(context);
    auto pairs = std::make_unique<ListedPairs>(std::move(list), settings.seed);
    for (const auto& [split, name] : {std::pair{Split::Train, "training"}, std::pair{Split::Validation, "validation"}})
        if (pairs->of(split).empty())
            failParameter(task, "text", fmt::format("the text has no pair for {}", name),
                          "choose a text with at least 100 pairs");
    return fromSample(std::move(pairs), values, context, settings.data.stopPoint);
}

std::unique_ptr<TaskInstance> makeTranslation(const TaskValues& values, const TaskSettings& settings) {
    return fromList("translation", readPairs(settings.data.text, settings.data.translation, settings.data.languages),
                    values, settings);
}

std::unique_ptr<TaskInstance> makeTextToText(const TaskValues& values, const TaskSettings& settings) {
    return fromList("text-to-text", readTasks(settings.data.text), values, settings);
}

} // namespace

std::pair<std::string, std::string> languagePair(std::string_view task, const std::string& languages) {
    const size_t dash = languages.find('-');
    if (dash == std::string::npos || dash == 0 || dash + 1 == languages.size())
        failParameter(task, "languages", fmt::format("\"{}\" is not written as FROM-TO", languages),
                      "write for example en-de");
    return {languages.substr(0, dash), languages.substr(dash + 1)};
}

std::vector<std::pair<std::string, std::string>> spelledLanguages() {
    std::vector<std::pair<std::string, std::string>> languages;
    for (const std::string& code : Speller::languages()) languages.emplace_back(code, Speller::nameOf(code));
    return languages;
}

std::unique_ptr<TaskInstance> Translation::make(std::unique_ptr<const PairSource> pairs, std::string json, int longest,
                                                bool isReversed) {
    const Tokenizer tokenizer = Tokenizer::fromJson(json);
    constexpr size_t kLeastFitting = 100; // one in so many, or drawing pairs that fit takes for ever
    const std::vector<TextPair> sample = sampleOf(*pairs);
    const auto room = static_cast<size_t>(longest);
    size_t source = 0, target = 0, fitting = 0;
    for (const TextPair& pair : sample) {
        const size_t ofSource = tokenizer.encode(pair.source, false).ids.size(),
                     ofTarget = tokenizer.encode(pair.target, false).ids.size() + 1;
        source = std::max(source, ofSource);
        target = std::max(target, ofTarget);
        fitting += ofSource <= room && ofTarget <= room ? 1 : 0;
    }
    if (fitting * kLeastFitting < sample.size()) refuseContext(longest);
    const auto lengthFor = [&](size_t most) { return std::min(longest, static_cast<int>(most + most / 8 + 2)); };
    return std::unique_ptr<TaskInstance>(
        new Translation(std::move(pairs), std::move(json), lengthFor(target), lengthFor(source), isReversed));
}

Batch Translation::batch(Split split, uint64_t index, int rows) const {
    requireRows(rows);
    return questionsOf(*this, split, index * static_cast<uint64_t>(rows), rows);
}

/// A pair of a list that is too long has no answer, and so no targets.
Example Translation::example(Split split, uint64_t index) const {
    Example example{.prompt = {end_}};
    for (uint32_t attempt = 0; attempt < kMostAttempts; ++attempt) {
        const TextPair pair = pairs_->at(split, index, attempt);
        example.source = tokenizer().encode(pair.source, false).ids;
        example.answer = tokenizer().encode(pair.target, false).ids;
        example.answer.push_back(end_);
        if (isReversed_) std::ranges::reverse(example.source);
        const bool fits = std::ssize(example.source) <= sourceLength() && std::ssize(example.answer) <= contextLength();
        if (fits && !example.source.empty()) return example;
        example.source = {end_};
        example.answer.clear();
        if (split != Split::Train && pairs_->count(split)) break; // the same pair again
    }
    return example;
}

/// What stands before the first colon of the source, as readTasks() writes it.
std::string Translation::subtaskOf(const Example& example) const {
    std::vector<int32_t> tokens = example.source;
    if (isReversed_) std::ranges::reverse(tokens);
    const std::string text = tokenizer().decode(tokens, true);
    const size_t colon = text.find(": ");
    return colon == std::string::npos ? std::string() : text.substr(0, colon);
}

constinit const Task kNumbersTask{
    .id = "numbers",
    .title = "Translate numbers",
    .summary = "Translates spelled numbers between two of 77 languages. English to German: three hundred twelve = "
               "dreihundertzwölf",
    .hint =
        "Watch the cross-attention. The row of a piece shows where the model looks to write the next piece, so most "
        "rows look at the word that is translated next. Where German says the units before the tens, or Japanese "
        "groups by ten thousand, the line bends back.",
    .citation = "Vaswani et al. 2017, arXiv:1706.03762 (encoder-decoder); spelling by the rules of Unicode's CLDR",
    .params = kNumberParams,
    .hasSource = true,
    .readsLanguages = true,
    .make = makeNumbers,
};

constinit const Task kDatesTask{
    .id = "dates",
    .title = "Translate dates",
    .summary = "Translates dates between two languages. English to German: Thursday, November 26, 2026 = Donnerstag, "
               "26. November 2026",
    .hint = "Watch the cross-attention: languages differ in the order of day, month and year, so lines cross.",
    .citation = "Vaswani et al. 2017, arXiv:1706.03762 (encoder-decoder); formats of Unicode's CLDR",
    .params = kDateParams,
    .hasSource = true,
    .readsLanguages = true,
    .make = makeDates,
};

constinit const Task kTranslationTask{
    .id = "translation",
    .title = "Translation",
    .summary = "Learns to translate from your own parallel text: lines with a tab, TMX, gettext, or two files",
    .hint = "Watch the cross-attention: names and rare words find their translation first.",
    .citation = "Vaswani et al. 2017, arXiv:1706.03762, section 5",
    .params = kTextParams,
    .metric = Task::Metric::TokenMatch,
    .metricName = "accuracy of tokens",
    .successLevel = 0.6,
    .readsText = true,
    .hasSource = true,
    .readsTranslation = true,
    .make = makeTranslation,
};

constinit const Task kTextToTextTask{
    .id = "text-to-text",
    .title = "Text to text",
    .summary = "Learns several tasks at once. Each source begins with the name of its task, and the answer is a text: "
               "plural: house = houses",
    .hint = "Look in the cross-attention for heads that read the name of the task: it decides what the model writes.",
    .citation = "Raffel et al. 2020, arXiv:1910.10683, section 2.4",
    .params = kTextParams,
    .metric = Task::Metric::TokenMatch,
    .metricName = "accuracy of tokens",
    .successLevel = 0.6,
    .readsText = true,
    .hasSource = true,
    .hasSubtasks = true,
    .make = makeTextToText,
};

} // namespace attn
