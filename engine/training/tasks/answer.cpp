#include "engine/io/json_file.h"
#include "engine/text/utf8.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/readout_task.h"
#include "engine/training/tasks/word_pieces.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

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
    std::string question, passage;
    size_t begin, end; ///< bytes of the answer in the passage
};

[[noreturn]] void fail(std::string what) {
    failParameter(kId, "text", std::move(what),
                  "choose lines of a question, a passage and an answer from it with tabs between them, or a file of "
                  "SQuAD");
}

/// Lines of a question, a passage and an answer, which is the first place in the passage with its words.
std::vector<Question> readLines(std::string_view text) {
    std::vector<Question> questions;
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
        const size_t at = fields[1].find(fields[2]);
        if (at == std::string_view::npos || fields[2].empty())
            fail(fmt::format("the answer of line {} is not in its passage", number));
        questions.push_back({std::string(fields[0]), std::string(fields[1]), at, at + fields[2].size()});
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
            for (const auto& paragraph : article.at("paragraphs"))
                for (const auto& question : paragraph.at("qas")) {
                    if (!question.contains("answers") || question["answers"].empty()) continue;
                    const auto& answer = question["answers"].front();
                    const auto passage = paragraph.at("context").get<std::string>(),
                               words = answer.at("text").get<std::string>();
                    size_t begin = 0; // answer_start counts characters
                    for (auto left = answer.at("answer_start").get<int64_t>(); left > 0 && begin < passage.size();
                         --left)
                        utf8::next(passage, begin);
                    if (passage.compare(begin, words.size(), words) != 0 || words.empty())
                        fail(fmt::format("the answer \"{}\" does not stand at its \"answer_start\"", words));
                    questions.push_back(
                        {question.at("question").get<std::string>(), passage, begin, begin + words.size()});
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
        if (settings.text.empty()) fail("the task needs questions to learn from");
        const std::string file = readTaskText(kId, settings, {});
        const size_t first = std::min(file.find_first_not_of(" \t\r\n"), file.size());
        const std::vector<Question> questions =
            file.substr(first).starts_with('{') ? readSquad(file, settings.text.string()) : readLines(file);
        std::string train;
        for (const Question& each : questions)
            if (!isForValidation(each.passage)) train += each.question + '\n' + each.passage + '\n';
        Rows rows{.tokenizerJson = wordPieceTokenizer(settings, train, values.integer("vocabulary")),
                  .labels = {"first", "last"}};
        const Tokenizer tokenizer = Tokenizer::fromJson(rows.tokenizerJson);
        if (!tokenizer.beginId() || !tokenizer.endId()) fail("the model has no tokens around a pair of texts");
        for (const Question& each : questions)
            if (auto row = rowOf(each, tokenizer, static_cast<size_t>(values.integer("context"))))
                (isForValidation(each.passage) ? rows.validation : rows.train).push_back(std::move(*row));
        requireBoth(kId, rows.train.size(), rows.validation.size());
        return rows;
    }

    static std::optional<ReadoutRow> rowOf(const Question& question, const Tokenizer& tokenizer, size_t context) {
        Encoding pair = tokenizer.encodePair(question.question, question.passage);
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
