#include "engine/io/input_file.h"
#include "engine/text/bert_normalizer.h"
#include "engine/text/bert_vocabulary.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/text_budget.h"
#include "engine/training/tasks/bpe_learner.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/draws.h"
#include "engine/training/tasks/story_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace attn {
namespace {

constexpr std::string_view kId = "masked-text";
/// Instead of a file: stories of the task `stories`, which need no text.
constexpr std::string_view kStories = "builtin:stories";
constexpr int kStoryCount = 4000, kSpecialTokens = 5;

constexpr std::array<Param, 3> kParams{{
    {"context", "Context", "Number of tokens per row, a multiple of 8", Param::Kind::Integer, 16, 512, 8, 64},
    {"vocabulary", "Vocabulary",
     "Largest number of tokens: special ones, characters, and frequent words and their parts", Param::Kind::Integer, 64,
     30000, 1, 1000},
    {"hidden", "Hidden share", "Share of the tokens of a row that the model must fill in", Param::Kind::Real, 0.01, 0.9,
     0.01, 0.15},
}};

std::string storyText() {
    std::string text;
    for (int index = 0; index < kStoryCount; ++index) {
        Draws draws(0, static_cast<uint64_t>(index), 0);
        text += stories::write(draws, 0).text + "\n";
    }
    return text;
}

std::string readText(const std::filesystem::path& path) {
    constexpr uint64_t kMostBytes = uint64_t{64} << 20;
    if (path == kStories) return storyText();
    if (path.empty())
        failParameter(kId, "text", "the task needs a text to learn from",
                      fmt::format("choose a UTF-8 text file, or {}", kStories));
    return readTextFile(path, kMostBytes);
}

/// Calls a function with each line. BERT takes line breaks for blanks, so lines can be converted one by one.
template <class Take> void forEachLine(std::string_view text, const Take& take) {
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        take(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

/// The words of a text as BERT's tokenizer cuts them, with their counts.
std::map<std::string, int64_t> countWords(std::string_view text) {
    std::map<std::string, int64_t> counts;
    const PreTokenizer preTokenizer = PreTokenizer::bert();
    forEachLine(text, [&](std::string_view line) {
        TextBudget budget(line.size());
        AlignedText normal = BertNormalizer().apply(AlignedText(line, 0), budget);
        for (const AlignedText& word : preTokenizer.apply(std::move(normal), budget)) ++counts[word.text()];
    });
    return counts;
}

struct Corpus {
    std::string tokenizerJson;
    std::vector<int32_t> train{}, validation{};
};

std::string learnTokenizer(std::string_view text, int vocabulary) {
    const BertOptions bert;
    std::vector<std::string> tokens{bert.padding, bert.unknown, bert.first, bert.separator, bert.mask};
    const size_t room = static_cast<size_t>(vocabulary) - tokens.size();
    std::ranges::move(learnWordPieces(countWords(text), room), std::back_inserter(tokens));
    return bertTokenizerJson(tokens, bert);
}

/// The vocabulary, unless it is that of a model, is learned from the first 90 % of the lines' bytes, on which the model
/// trains.
Corpus read(const TaskValues& values, const TaskSettings& settings) {
    const std::string text = readText(settings.text);
    const size_t middle = text.size() / 10 * 9, found = text.find('\n', middle),
                 end = found == std::string::npos ? middle : found + 1;
    if (found == std::string::npos)
        failParameter(kId, "text", "the last tenth of the text has no line break", "break the text into lines");
    const std::string_view train = std::string_view(text).substr(0, end), rest = std::string_view(text).substr(end);
    Corpus corpus{settings.tokens == kModelTokens ? settings.modelTokenizer
                                                  : learnTokenizer(train, values.integer("vocabulary"))};
    const Tokenizer tokenizer = Tokenizer::fromJson(corpus.tokenizerJson);
    if (!tokenizer.beginId() || !tokenizer.endId() || !tokenizer.maskId())
        failParameter(kId, "tokenizer", "the model has no token that stands for a hidden word",
                      "choose a model that fills in masked tokens");
    const auto readPart = [&](std::string_view part, std::vector<int>& ids) {
        forEachLine(part, [&](std::string_view line) {
            std::ranges::copy(tokenizer.encode(line, false).ids, std::back_inserter(ids));
        });
    };
    readPart(train, corpus.train);
    readPart(rest, corpus.validation);
    return corpus;
}

/// Rows are windows of the text between BERT's first token and separator. Some of their tokens are hidden, and only
/// these are targets: of the hidden tokens 80 % become the mask, 10 % another token, and 10 % stay. Training draws
/// windows and hidden tokens anew each time (dynamic masking). Validation reads the last tenth of the text in
/// consecutive windows, whose hidden tokens are always the same. Test is the same as validation.
class MaskedText : public TaskInstance {
public:
    MaskedText(Corpus corpus, const TaskValues& values, uint64_t seed)
        : TaskInstance(std::move(corpus.tokenizerJson), values.integer("context")), train_(std::move(corpus.train)),
          validation_(std::move(corpus.validation)), hidden_(values.real("hidden")), seed_(seed),
          first_(*tokenizer().beginId()), separator_(*tokenizer().endId()), mask_(*tokenizer().maskId()) {
        if (contextLength() % 8 != 0)
            failParameter(kId, "context", fmt::format("{} is not a multiple of 8", contextLength()),
                          fmt::format("choose {}", (contextLength() + 7) / 8 * 8));
        if (train_.size() >= window() && validation_.size() >= window()) return;
        failParameter(kId, "context",
                      fmt::format("{} is too long for a text with {} tokens for training and {} for validation",
                                  contextLength(), train_.size(), validation_.size()),
                      "choose a shorter context or a longer text");
    }

    Batch batch(Split split, uint64_t index, int rows) const override {
        requireRows(rows);
        Batch batch{.rows = rows, .columns = contextLength()};
        for (int row = 0; row < rows; ++row) {
            const Row masked = rowAt(split, index * static_cast<uint64_t>(rows) + static_cast<uint64_t>(row));
            batch.inputs.insert(batch.inputs.end(), masked.inputs.begin(), masked.inputs.end());
            batch.targets.insert(batch.targets.end(), masked.targets.begin(), masked.targets.end());
        }
        return batch;
    }

    /// A row with its hidden tokens in order.
    Example example(Split split, uint64_t index) const override {
        Row row = rowAt(split, split == Split::Train ? index : index % windowCount());
        std::erase(row.targets, Batch::kIgnored);
        return {.prompt = std::move(row.inputs), .answer = std::move(row.targets)};
    }

    std::optional<uint64_t> rowCount(Split split) const override {
        return split == Split::Train ? std::nullopt : std::optional(windowCount());
    }

private:
    struct Row {
        std::vector<int32_t> inputs, targets;
    };

    size_t window() const { return static_cast<size_t>(contextLength()) - 2; }
    uint64_t windowCount() const { return validation_.size() / window(); }

    Row rowAt(Split split, uint64_t index) const {
        const bool isTrain = split == Split::Train;
        Row row{.inputs = std::vector<int32_t>(static_cast<size_t>(contextLength()), first_),
                .targets = std::vector<int32_t>(static_cast<size_t>(contextLength()), Batch::kIgnored)};
        if (!isTrain && index >= windowCount()) return row; // beyond the end: no targets
        Draws draws(isTrain ? seed_ : 0, index, isTrain ? 0 : 1);
        const std::vector<int32_t>& tokens = isTrain ? train_ : validation_;
        const size_t begin = isTrain ? static_cast<size_t>(draws.below(static_cast<int>(tokens.size() - window() + 1)))
                                     : index * window();
        std::copy_n(tokens.begin() + static_cast<std::ptrdiff_t>(begin), window(), row.inputs.begin() + 1);
        row.inputs.back() = separator_;
        std::vector<size_t> places(window());
        for (size_t i = 0; i < places.size(); ++i) places[i] = i + 1;
        draws.shuffle(std::span(places));
        const double share = hidden_ * static_cast<double>(window());
        places.resize(static_cast<size_t>(std::clamp(share + 0.5, 1.0, static_cast<double>(window()))));
        for (const size_t place : places) {
            row.targets[place] = row.inputs[place];
            const int tenth = draws.below(10);
            if (tenth < 8)
                row.inputs[place] = mask_;
            else if (tenth == 8)
                row.inputs[place] = draws.between(kSpecialTokens, vocabularySize() - 1);
        }
        return row;
    }

    std::vector<int32_t> train_, validation_;
    double hidden_;
    uint64_t seed_;
    int32_t first_, separator_, mask_;
};

std::unique_ptr<TaskInstance> make(const TaskValues& values, const TaskSettings& settings) {
    return std::make_unique<MaskedText>(read(values, settings), values, settings.seed);
}

} // namespace

constinit const Task kMaskedTextTask{
    .id = kId,
    .title = "Masked text",
    .summary = "Learns to fill in hidden words of your own text, from the words on both sides: \"the [MASK] barked\"",
    .hint =
        "Watch: rows of a head reach to both sides of the diagonal. Early in training, heads look at neighbours; later "
        "a hidden word looks at the words that decide it.",
    .citation = "Devlin et al. 2019, arXiv:1810.04805, section 3.1; Liu et al. 2019, arXiv:1907.11692, section 4.1 "
                "(dynamic masking)",
    .params = kParams,
    .metric = Task::Metric::TokenMatch,
    .metricName = "accuracy of hidden tokens",
    .successLevel = 0.5,
    .readsText = true,
    .masksTokens = true,
    .make = make,
};

} // namespace attn
