#include "engine/data/text_parts.h"
#include "engine/data/word_pieces.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/hidden_tokens.h"
#include "engine/training/tasks/readout_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace attn {
namespace {

constexpr std::string_view kId = "tag";
constexpr size_t kMostTags = 1000;

constexpr std::array kParams{
    Param{"context", "Context", "Most tokens of a sentence; longer ones are cut", Param::Kind::Integer, 8, 512, 1, 64},
    kVocabularyParam};

struct Sentence {
    std::vector<std::string_view> words{}, tags{};
    std::string text() const { return fmt::format("{}", fmt::join(words, " ")); }
};

/// Reads lines of a word, other columns, and a tag, with an empty line between sentences, as the shared tasks of CoNLL
/// have them. Lines with -DOCSTART- are left out.
/// @throws Error naming the line without a tag
std::vector<Sentence> readSentences(std::string_view text) {
    std::vector<Sentence> sentences(1);
    requireNoNames(kId, text);
    size_t number = 0;
    forEachLine(text, [&](std::string_view line) {
        ++number;
        while (line.ends_with(' ') || line.ends_with('\t')) line.remove_suffix(1);
        if (line.empty() || line.starts_with("-DOCSTART-")) {
            if (!sentences.back().words.empty()) sentences.emplace_back();
            return;
        }
        const size_t wordEnd = line.find_first_of(" \t"), tagBegin = line.find_last_of(" \t");
        if (wordEnd == std::string_view::npos || wordEnd == 0)
            failParameter(kId, "text", fmt::format("line {} is not a word, a blank or tab, and a tag", number),
                          "write one word a line, such as: Paris B-LOC, and an empty line after each sentence");
        sentences.back().words.push_back(line.substr(0, wordEnd));
        sentences.back().tags.push_back(line.substr(tagBegin + 1));
    });
    if (sentences.back().words.empty()) sentences.pop_back();
    return sentences;
}

/// A class for each word of sentences of the user's. Only the first token of a word has a target.
class Tag : public ListedReadoutTask {
public:
    Tag(const TaskValues& values, const TaskSettings& settings)
        : ListedReadoutTask(read(values, settings), values.integer("context"), values.integer("context"),
                            settings.seed) {}

private:
    static Rows read(const TaskValues& values, const TaskSettings& settings) {
        if (settings.data.text.empty())
            failParameter(kId, "text", "the task needs tagged sentences to learn from",
                          "choose a file with a word and its tag on each line");
        const std::string file = readTaskText(kId, settings.data, {});
        const std::vector<Sentence> sentences = readSentences(file);
        std::set<std::string_view> tags;
        std::string train;
        for (const Sentence& each : sentences) {
            tags.insert(each.tags.begin(), each.tags.end());
            if (const std::string text = each.text(); !isForValidation(text)) train += text + '\n';
        }
        if (tags.size() < 2 || tags.size() > kMostTags)
            failParameter(kId, "text", fmt::format("the file has {} different tags", tags.size()),
                          fmt::format("choose a file with 2 to {}", kMostTags));
        Rows rows{.tokenizerJson = wordPieceTokenizer(settings.data, train, values.integer("vocabulary")),
                  .labels = {tags.begin(), tags.end()}};
        const Tokenizer tokenizer = Tokenizer::fromJson(rows.tokenizerJson);
        for (const Sentence& each : sentences) {
            settings.data.stopPoint();
            (isForValidation(each.text()) ? rows.validation : rows.train)
                .push_back(rowOf(each, tokenizer, rows.labels, static_cast<size_t>(values.integer("context"))));
        }
        requireBoth(kId, rows.train.size(), rows.validation.size());
        return rows;
    }

    static ReadoutRow rowOf(const Sentence& sentence, const Tokenizer& tokenizer,
                            const std::vector<std::string>& labels, size_t context) {
        ReadoutRow row;
        const auto add = [&](std::optional<int> token, int32_t target) {
            if (!token || row.tokens.size() >= context) return;
            row.tokens.push_back(*token);
            row.targets.push_back(target);
        };
        add(tokenizer.beginId(), Batch::kIgnored);
        --context; // for the end
        for (size_t word = 0; word < sentence.words.size() && row.tokens.size() < context; ++word) {
            auto tag = static_cast<int32_t>(std::ranges::lower_bound(labels, sentence.tags[word]) - labels.begin());
            for (const int token : tokenizer.encode(beginningOf(sentence.words[word], context), false).ids)
                add(token, std::exchange(tag, Batch::kIgnored));
        }
        ++context;
        add(tokenizer.endId(), Batch::kIgnored);
        return row;
    }
};

std::unique_ptr<TaskInstance> make(const TaskValues& values, const TaskSettings& settings) {
    return std::make_unique<Tag>(values, settings);
}

} // namespace

constinit const Task kTagTask{
    .id = kId,
    .title = "Tags of words",
    .summary =
        "Learns a tag for each word, such as names of persons and places, from your own file with a word and its "
        "tag on each line",
    .hint = "Watch: a word looks at its neighbours, at a title before a name or a preposition before a place.",
    .citation =
        "Tjong Kim Sang and De Meulder 2003, arXiv:cs/0306050; Devlin et al. 2019, arXiv:1810.04805, section 5.3",
    .params = kParams,
    .metric = Task::Metric::TokenMatch,
    .metricName = "accuracy of tags",
    .successLevel = 0.95,
    .readsText = true,
    .readout = TextReadout::TokenClass,
    .make = make,
};

} // namespace attn
