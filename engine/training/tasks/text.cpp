#include "engine/core/error.h"
#include "engine/io/input_file.h"
#include "engine/text/utf8.h"
#include "engine/training/tasks/bpe_learner.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <unordered_map>

namespace attn {
namespace {

constexpr std::string_view kId = "text";

constexpr std::array<Param, 1> kParams{{
    {"context", "Context", "Number of tokens per row", Param::Kind::Integer, 2, 2048, 1, 64},
}};

std::string readText(const std::filesystem::path& path) {
    constexpr uint64_t kMostBytes = uint64_t{64} << 20;
    if (path.empty())
        throw Error(
            {.what = "the task needs a text to learn from", .where = "text", .hint = "choose a UTF-8 text file"});
    return readTextFile(path, kMostBytes);
}

/// The token ids of the two parts of a text.
struct Corpus {
    std::string tokenizerJson;
    std::vector<int32_t> train{}, validation{};
};

/// The byte offset at 90 % of the characters of a text.
/// @throws Error if the text is not UTF-8
size_t endOfTrain(std::string_view text, const std::filesystem::path& path) {
    if (const auto at = utf8::firstInvalid(text))
        throw Error({.what = fmt::format("byte {} is not UTF-8", *at),
                     .where = path.string(),
                     .hint = "save the text as UTF-8, or choose bytes as tokens"});
    size_t characters = 0, end = 0;
    for (size_t at = 0; at < text.size(); ++characters) utf8::next(text, at);
    for (size_t left = static_cast<size_t>(static_cast<double>(characters) * 0.9); left > 0; --left)
        utf8::next(text, end);
    return end;
}

Corpus asCharacters(std::string_view text, const std::filesystem::path& path) {
    const size_t end = endOfTrain(text, path);
    std::set<char32_t> characters;
    for (size_t at = 0; at < text.size();) characters.insert(utf8::next(text, at));
    std::vector<std::string> alphabet;
    std::unordered_map<char32_t, int32_t> ids;
    for (const char32_t character : characters) {
        ids.emplace(character, static_cast<int32_t>(alphabet.size()));
        alphabet.push_back(utf8::encode(character));
    }
    Corpus corpus{characterTokenizerJson(alphabet)};
    for (size_t at = 0; at < text.size();) {
        std::vector<int32_t>& part = at < end ? corpus.train : corpus.validation;
        part.push_back(ids.at(utf8::next(text, at)));
    }
    return corpus;
}

/// Accepts any file. The parts are split after 90 % of the bytes.
Corpus asBytes(std::string_view text) {
    std::array<int32_t, 256> ids{};
    int32_t next = 0;
    for (const unsigned char byte : gpt2Bytes()) ids[byte] = next++;
    const auto end = static_cast<size_t>(static_cast<double>(text.size()) * 0.9);
    Corpus corpus{byteLevelTokenizerJson({})};
    for (size_t at = 0; at < text.size(); ++at)
        (at < end ? corpus.train : corpus.validation).push_back(ids[static_cast<unsigned char>(text[at])]);
    return corpus;
}

/// The merges are learned from the training part.
Corpus asBpe(std::string_view text, int merges, const std::filesystem::path& path) {
    const size_t end = endOfTrain(text, path);
    Corpus corpus{byteLevelTokenizerJson(learnBpe(text.substr(0, end), merges))};
    const Tokenizer tokenizer = Tokenizer::fromJson(corpus.tokenizerJson);
    corpus.train = tokenizer.encode(text.substr(0, end)).ids;
    corpus.validation = tokenizer.encode(text.substr(end)).ids;
    return corpus;
}

Corpus read(const TaskSettings& settings) {
    constexpr std::string_view kBpe = "bpe:";
    constexpr int kMostMerges = 50000;
    const std::string_view tokens = settings.tokens;
    int merges = 0;
    if (tokens.starts_with(kBpe)) {
        const char* end = tokens.data() + tokens.size();
        const auto [stop, error] = std::from_chars(tokens.data() + kBpe.size(), end, merges);
        if (error != std::errc() || stop != end || merges < 1 || merges > kMostMerges) merges = -1;
    }
    if (merges < 0 || (merges == 0 && tokens != "chars" && tokens != "bytes"))
        failParameter(kId, "tokens", fmt::format("\"{}\" is not a kind of tokens", tokens),
                      fmt::format("choose chars, bytes, or bpe:N with N from 1 to {} merges", kMostMerges));
    const std::string text = readText(settings.text);
    if (merges > 0) return asBpe(text, merges, settings.text);
    return tokens == "chars" ? asCharacters(text, settings.text) : asBytes(text);
}

/// Training draws random windows from the first 90 %, as nanoGPT does. Validation reads the rest in consecutive
/// windows, which makes the loss exact. Test is the same as validation.
class Text : public TaskInstance {
public:
    Text(Corpus corpus, int context, const TaskSettings& settings)
        : TaskInstance(std::move(corpus.tokenizerJson), context), train_(std::move(corpus.train)),
          validation_(std::move(corpus.validation)), seed_(settings.seed) {
        if (train_.size() > columns() && validation_.size() > 1) return;
        failParameter(kId, "context",
                      fmt::format("{} is too long for a text with {} tokens for training and {} for validation",
                                  context, train_.size(), validation_.size()),
                      "choose a shorter context or a longer text");
    }

    Batch batch(Split split, uint64_t index, int rows) const override {
        requireRows(rows);
        const auto count = static_cast<size_t>(rows);
        Batch batch{.rows = rows,
                    .columns = contextLength(),
                    .inputs = std::vector<int32_t>(count * columns(), 0),
                    .targets = std::vector<int32_t>(count * columns(), Batch::kIgnored)};
        for (size_t row = 0; row < count; ++row) {
            const std::span<const int32_t> tokens = window(split, index * count + row);
            for (size_t i = 0; i + 1 < tokens.size(); ++i) {
                batch.inputs[row * columns() + i] = tokens[i];
                batch.targets[row * columns() + i] = tokens[i + 1];
            }
        }
        return batch;
    }

    Example example(Split split, uint64_t index) const override {
        const auto tokens = window(split, split == Split::Train ? index : index % windowCount());
        const size_t half = tokens.size() / 2;
        return {.prompt = {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(half)},
                .answer = {tokens.begin() + static_cast<std::ptrdiff_t>(half), tokens.end()}};
    }

    std::optional<uint64_t> rowCount(Split split) const override {
        return split == Split::Train ? std::nullopt : std::optional(windowCount());
    }

private:
    size_t columns() const { return static_cast<size_t>(contextLength()); }
    uint64_t windowCount() const { return (validation_.size() - 1 + columns() - 1) / columns(); }

    /// One token more than columns; fewer at the end of the text, none beyond.
    std::span<const int32_t> window(Split split, uint64_t index) const {
        const std::span<const int32_t> tokens = split == Split::Train ? train_ : validation_;
        size_t begin = index * columns();
        if (split == Split::Train) {
            const auto starts = static_cast<int>(train_.size() - columns());
            begin = static_cast<size_t>(Draws(seed_, index, 0).below(starts));
        }
        if (begin + 1 >= tokens.size()) return {};
        return tokens.subspan(begin, std::min(columns() + 1, tokens.size() - begin));
    }

    std::vector<int32_t> train_, validation_;
    uint64_t seed_;
};

std::unique_ptr<TaskInstance> make(const TaskValues& values, const TaskSettings& settings) {
    return std::make_unique<Text>(read(settings), values.integer("context"), settings);
}

} // namespace

constinit const Task kTextTask{
    .id = kId,
    .title = "Text",
    .summary = "Learns to continue your own text, by characters, bytes or a vocabulary of frequent pieces",
    .hint =
        "Watch: early in training, heads attend to the last few tokens. Later some attend to the last place with the "
        "same name or word, or to the start of the line.",
    .citation = "Karpathy 2022, nanoGPT, github.com/karpathy/nanoGPT (windows, first 90 % to train; the level is for "
                "Shakespeare's characters)",
    .params = kParams,
    .metric = Task::Metric::Loss,
    .metricName = "validation loss",
    .successLevel = 1.92,
    .readsText = true,
    .make = make,
};

} // namespace attn
