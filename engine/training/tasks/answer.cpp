#include "engine/core/quoting.h"
#include "engine/data/text_parts.h"
#include "engine/data/word_pieces.h"
#include "engine/io/json_file.h"
#include "engine/text/utf8.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/hidden_tokens.h"
#include "engine/training/tasks/readout_task.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>

namespace attn {
namespace {

constexpr std::string_view kId = "answer";

constexpr std::array kParams{
    Param{"context", "Context",
          "Most tokens of a question with its passage; examples whose answer does not fit are left "
          "out",
          Param::Kind::Integer, 16, 512, 1, 128},
    kVocabularyParam};

struct Question {
    std::string question;
    std::shared_ptr<const std::string> passage; ///< which neighbours in the file may share
    size_t begin, end;                          ///< bytes of the answer in the passage
};

[[noreturn]] void fail(std::string what) {
    failParameter(kId, "text", std::move(what),
                  "choose lines of a question, a passage and an answer from it with tabs between them, or a file of "
                  "SQuAD");
}

/// The first place of some words in a passage, in time proportional to both: find() compares each place with all words.
size_t placeOf(std::string_view words, std::string_view passage) {
    const auto found =
        std::search(passage.begin(), passage.end(), std::boyer_moore_searcher(words.begin(), words.end()));
    return found == passage.end() ? std::string_view::npos : static_cast<size_t>(found - passage.begin());
}

/// Where characters of a text lie.
class CharacterPlaces {
public:
    explicit CharacterPlaces(std::string_view text) : text_(text) {
        size_t character = 0;
        for (size_t at = 0; at < text.size(); utf8::next(text, at))
            if (character++ % kEvery == 0) bytes_.push_back(at);
    }
    /// The byte at which a character begins; the end of the text beyond it.
    size_t byteOf(int64_t character) const {
        const auto block = static_cast<size_t>(std::max<int64_t>(character, 0)) / kEvery;
        if (block >= bytes_.size()) return text_.size();
        size_t at = bytes_[block];
        for (size_t left = static_cast<size_t>(std::max<int64_t>(character, 0)) % kEvery; left > 0; --left)
            if (at < text_.size()) utf8::next(text_, at);
        return at;
    }

private:
    static constexpr size_t kEvery = 1024;
    std::string_view text_;
    std::vector<size_t> bytes_; ///< of every so many characters
};

/// Lines of a question, a passage and an answer, which is the first place in the passage with its words.
std::vector<Question> readLines(std::string_view text) {
    std::vector<Question> questions;
    requireNoNames(kId, text);
    size_t number = 0;
    forEachLine(text, [&](std::string_view line) {
        ++number;
        if (line.empty()) return;
        std::vector<std::string_view> fields;
        for (size_t begin = 0; begin <= line.size();) {
            const size_t end = std::min(line.find('\t', begin), line.size());
            fields.push_back(line.substr(begin, end - begin));
            begin = end + 1;
        }
        if (fields.size() != 3) fail(fmt::format("line {} has {} fields instead of 3", number, fields.size()));
        const size_t at = fields[2].empty() ? std::string_view::npos : placeOf(fields[2], fields[1]);
        if (at == std::string_view::npos) fail(fmt::format("the answer of line {} is not in its passage", number));
        questions.push_back(
            {std::string(fields[0]), std::make_shared<const std::string>(fields[1]), at, at + fields[2].size()});
    });
    return questions;
}

/// SQuAD's JSON. Questions without an answer are left out; of several answers, the first counts.
/// @source Rajpurkar et al. 2016, arXiv:1606.05250
std::vector<Question> readSquad(std::string_view text, const std::string& file) {
    std::vector<Question> questions;
    const nlohmann::json json = parseJson(std::string(text), file);
    try {
        for (const auto& article : json.at("data"))
            for (const auto& paragraph : article.at("paragraphs")) {
                const auto passage = std::make_shared<const std::string>(paragraph.at("context").get<std::string>());
                const CharacterPlaces places(*passage); // answer_start counts characters
                for (const auto& question : paragraph.at("qas")) {
                    if (!question.contains("answers") || question["answers"].empty()) continue;
                    const auto& answer = question["answers"].front();
                    const auto words = answer.at("text").get<std::string>();
                    const size_t begin = places.byteOf(answer.at("answer_start").get<int64_t>());
                    if (passage->compare(begin, words.size(), words) != 0 || words.empty())
                        fail(fmt::format("the answer {} does not stand at its \"answer_start\"", inQuotes(words)));
                    questions.push_back(
                        {question.at("question").get<std::string>(), passage, begin, begin + words.size()});
                }
            }
    } catch (const nlohmann::json::exception&) {
        fail("the file is JSON, but not as SQuAD has it");
    }
    return questions;
}

/// The first and the last token of an answer in a passage. For questions of the user's.
class Answer : public ListedReadoutTask {
public:
    Answer(const TaskValues& values, const TaskSettings& settings)
        : ListedReadoutTask(read(values, settings), values.integer("context"), 2, settings.seed) {}

    std::vector<std::string> answerTexts(const Example& example, std::span<const int32_t> answer) const override {
        const auto length = static_cast<int32_t>(example.prompt.size());
        if (answer.size() != 2 || answer[0] > answer[1] || answer[1] >= length) return {};
        std::vector<std::string> texts;
        for (int32_t at = answer[0]; at <= answer[1]; ++at)
            texts.push_back(tokenizer().tokenText(example.prompt[static_cast<size_t>(at)]));
        return texts;
    }

private:
    static Rows read(const TaskValues& values, const TaskSettings& settings) {
        if (settings.data.text.empty()) fail("the task needs questions to learn from");
        const std::string file = readTaskText(kId, settings.data, {});
        const size_t first = std::min(file.find_first_not_of(" \t\r\n"), file.size());
        const std::vector<Question> questions =
            file.substr(first).starts_with('{') ? readSquad(file, settings.data.text.string()) : readLines(file);
        std::string train;
        const std::string* last = nullptr;
        bool isValidation = false;
        for (const Question& each : questions) {
            const bool isOther = std::exchange(last, each.passage.get()) != each.passage.get();
            if (isOther) isValidation = isForValidation(*each.passage);
            if (isValidation) continue;
            train += each.question + '\n';
            if (isOther) train += *each.passage + '\n';
        }
        Rows rows{.tokenizerJson = wordPieceTokenizer(settings.data, train, values.integer("vocabulary")),
                  .labels = {"first", "last"}};
        const Tokenizer tokenizer = Tokenizer::fromJson(rows.tokenizerJson);
        if (!tokenizer.beginId() || !tokenizer.endId()) fail("the model has no tokens around a pair of texts");
        const auto context = static_cast<size_t>(values.integer("context"));
        std::string_view passage; // of the question before
        last = nullptr;
        for (const Question& each : questions) {
            settings.data.stopPoint();
            if (std::exchange(last, each.passage.get()) != each.passage.get()) {
                passage = beginningOf(*each.passage, tokenizer, context);
                isValidation = isForValidation(*each.passage);
            }
            if (auto row = rowOf(each, passage, tokenizer, context))
                (isValidation ? rows.validation : rows.train).push_back(std::move(*row));
        }
        requireBoth(kId, rows.train.size(), rows.validation.size());
        return rows;
    }

    /// @param passage as much of it as fits into the context
    static std::optional<ReadoutRow> rowOf(const Question& question, std::string_view passage,
                                           const Tokenizer& tokenizer, size_t context) {
        if (question.end > passage.size()) return {};
        Encoding pair = tokenizer.encodePair(beginningOf(question.question, context), passage);
        shorten(pair, tokenizer, context);
        ReadoutRow row{.tokens = std::move(pair.ids), .types = std::move(pair.types), .targets = {-1, -1}};
        for (size_t at = 0; at < pair.ranges.size(); ++at) {
            const ByteRange& range = pair.ranges[at];
            if (pair.texts[at] != 1 || range.begin >= range.end || tokenizer.isSpecial(row.tokens[at])) continue;
            if (range.end > question.begin && range.begin < question.end) {
                if (row.targets[0] < 0) row.targets[0] = static_cast<int32_t>(at);
                if (range.end >= question.end) row.targets[1] = static_cast<int32_t>(at);
            }
        }
        if (row.targets[0] < 0 || row.targets[1] < 0) return {};
        return row;
    }
};

std::unique_ptr<TaskInstance> make(const TaskValues& values, const TaskSettings& settings) {
    return std::make_unique<Answer>(values, settings);
}

} // namespace

constinit const Task kAnswerTask{
    .id = kId,
    .title = "Answers in a passage",
    .summary =
        "Learns to find the answer to a question in a passage, from your own file with a question, a passage and an "
        "answer on each line, or from a file of SQuAD",
    .hint =
        "Watch: words of the passage look at the same words in the question, and the answer at the words around it.",
    .citation = "Rajpurkar et al. 2016, arXiv:1606.05250; Devlin et al. 2019, arXiv:1810.04805, section 4.2",
    .params = kParams,
    .metric = Task::Metric::ExactMatch,
    .metricName = "exact match",
    .successLevel = 0.6,
    .readsText = true,
    .readout = TextReadout::Span,
    .make = make,
};

} // namespace attn
