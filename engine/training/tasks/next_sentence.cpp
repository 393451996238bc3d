#include "engine/data/draws.h"
#include "engine/data/text_parts.h"
#include "engine/data/word_pieces.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/hidden_tokens.h"
#include "engine/training/tasks/readout_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr std::string_view kId = "next-sentence";
constexpr uint64_t kMostValidationRows = 4096;

constexpr std::array kParams{
    Param{"context", "Context", "Most tokens of a pair; longer ones are cut", Param::Kind::Integer, 16, 512, 1, 64},
    kVocabularyParam,
    Param{"hidden", "Hidden share",
          "Share of the tokens of a pair that the model must also fill in, as in BERT's pretraining. 0: none",
          Param::Kind::Real, 0, 0.9, 0.01, 0}};

/// The sentences of a part of a text: its lines. Empty lines divide it into documents.
struct Sentences {
    std::vector<std::string> lines{};
    std::vector<size_t> followed{}; ///< the lines after which another one of the same document comes
    size_t documents = 0;           ///< with at least two lines

    explicit Sentences(std::string_view text) {
        size_t length = 0; // lines of this document so far
        forEachLine(text, [&](std::string_view line) {
            if (line.find_first_not_of(" \t") == std::string_view::npos) {
                length = 0;
                return;
            }
            if (length > 0) followed.push_back(lines.size() - 1);
            lines.emplace_back(line);
            documents += ++length == 2 ? 1 : 0;
        });
    }
};

constexpr const char* kRemedy =
    "choose a UTF-8 text file with a sentence on each line and an empty line between documents";

/// Without documents there is no question: any line may follow any other.
void requireDocuments(const Sentences& part, std::string_view name) {
    if (part.documents >= 2) return;
    failParameter(kId, "text",
                  fmt::format("{} has {} {} of two or more lines, so that nothing tells the line that follows from any "
                              "other",
                              name, part.documents, part.documents == 1 ? "document" : "documents"),
                  kRemedy);
}

struct Corpus {
    std::string tokenizerJson;
    Sentences train, validation;
};

Corpus read(const TaskValues& values, const TaskSettings& settings) {
    if (settings.data.text.empty()) failParameter(kId, "text", "the task needs a text to learn from", kRemedy);
    if (settings.data.text == kBuiltinStories)
        failParameter(kId, "text",
                      fmt::format("each line of {} is a story of its own, so that none follows from the one before",
                                  kBuiltinStories),
                      kRemedy);
    const std::string text = readTaskText(kId, settings.data, kRemedy);
    const size_t end = text.find('\n', text.size() / 10 * 9);
    if (end == std::string::npos)
        failParameter(kId, "text", "the last tenth of the text has no line break",
                      "choose a text with a sentence on each line");
    const std::string_view train = std::string_view(text).substr(0, end), rest = std::string_view(text).substr(end);
    Corpus corpus{{}, Sentences(train), Sentences(rest)};
    requireDocuments(corpus.train, "the part of the text for training");
    requireDocuments(corpus.validation, "the last tenth of the text, which is for validation,");
    corpus.tokenizerJson = wordPieceTokenizer(settings.data, train, values.integer("vocabulary"));
    return corpus;
}

/// Pairs of sentences. In half of them the second follows the first in the text, in the others it is any sentence of
/// the same split. Training draws new pairs each time; validation always has the same ones.
class NextSentence : public ReadoutTask {
public:
    NextSentence(Corpus corpus, const TaskValues& values, uint64_t seed)
        : ReadoutTask(std::move(corpus.tokenizerJson), values.integer("context"),
                      values.real("hidden") > 0 ? values.integer("context") : 1,
                      std::min<uint64_t>(2 * corpus.validation.followed.size(), kMostValidationRows), seed),
          hidden_(values.real("hidden")), train_(std::move(corpus.train)), validation_(std::move(corpus.validation)) {
        if (!tokenizer().beginId() || !tokenizer().endId())
            failParameter(kId, "tokenizer", "the model has no tokens around a pair of texts",
                          "choose a model of the family bert");
        if (hidesTokens() && !tokenizer().maskId())
            failParameter(kId, "hidden", "the model has no token that stands for a hidden word",
                          "choose 0, or a model that fills in masked tokens");
        for (Sentences* part : {&train_, &validation_})
            for (std::string& line : part->lines) // which many pairs encode
                line.resize(beginningOf(line, tokenizer(), static_cast<size_t>(contextLength())).size());
    }

    std::vector<std::string> labels() const override { return {"follows", "random"}; }
    bool hidesTokens() const override { return hidden_ > 0; }
    std::vector<std::string> answerTexts(const Example& example, std::span<const int32_t> answer) const override {
        std::vector<std::string> texts =
            TaskInstance::answerTexts(example, answer.first(std::min<size_t>(1, answer.size())));
        for (size_t at = 1; at < answer.size(); ++at) texts.push_back(tokenizer().tokenText(answer[at]));
        return texts;
    }

private:
    ReadoutRow rowAt(Split split, uint64_t index) const override {
        const bool isTrain = split == Split::Train;
        const Sentences& from = isTrain ? train_ : validation_;
        Draws draws(isTrain ? seed() : 0, index, isTrain ? 0 : 1);
        const size_t first = draws.pick(std::span<const size_t>(from.followed));
        size_t second = first + 1;
        if (draws.chance(0.5)) second = static_cast<size_t>(draws.below(static_cast<int>(from.lines.size())));
        Encoding pair = tokenizer().encodePair(from.lines[first], from.lines[second]);
        shorten(pair, tokenizer(), static_cast<size_t>(contextLength()));
        const int32_t textClass = second == first + 1 ? 0 : 1;
        ReadoutRow row{.tokens = std::move(pair.ids), .types = std::move(pair.types), .targets = {textClass}};
        if (hidesTokens()) {
            row.textClass = textClass;
            hide(row, draws);
        }
        return row;
    }

    /// Hides tokens of both sentences, and makes them the targets.
    void hide(ReadoutRow& row, Draws& draws) const {
        std::vector<size_t> places;
        for (size_t at = 0; at < row.tokens.size(); ++at)
            if (!tokenizer().isSpecial(row.tokens[at])) places.push_back(at);
        draws.shuffle(std::span(places));
        row.targets.assign(row.tokens.size(), Batch::kIgnored);
        const double share = hidden_ * static_cast<double>(places.size());
        places.resize(std::min(places.size(), static_cast<size_t>(std::max(share + 0.5, 1.0))));
        for (const size_t place : places) {
            row.targets[place] = row.tokens[place];
            row.tokens[place] = hiddenToken(row.tokens[place], *tokenizer().maskId(), vocabularySize(), draws);
        }
    }

    double hidden_;
    Sentences train_, validation_;
};

std::unique_ptr<TaskInstance> make(const TaskValues& values, const TaskSettings& settings) {
    return std::make_unique<NextSentence>(read(values, settings), values, settings.seed);
}

} // namespace

constinit const Task kNextSentenceTask{
    .id = kId,
    .title = "Next sentence",
    .summary =
        "Learns whether the second of two lines follows the first in your own text, which has an empty line between "
        "documents, or is any line of it",
    .hint = "Watch: heads look from one sentence into the other, at words that both have.",
    .citation = "Devlin et al. 2019, arXiv:1810.04805, section 3.1",
    .params = kParams,
    .metric = Task::Metric::TokenMatch,
    .metricName = "accuracy",
    .successLevel = 0.8,
    .readsText = true,
    .readout = TextReadout::NextSentence,
    .make = make,
};

} // namespace attn
