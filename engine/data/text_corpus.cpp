#include "engine/data/text_corpus.h"

#include "engine/core/error.h"
#include "engine/data/bpe_learner.h"
#include "engine/data/text_parts.h"
#include "engine/data/word_pieces.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <set>
#include <unordered_map>

namespace attn {
namespace {

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

TextCorpus asCharacters(std::string_view text, const std::filesystem::path& path,
                        const std::vector<std::string>& specials) {
    const size_t end = endOfTrain(text, path);
    std::set<char32_t> characters;
    for (size_t at = 0; at < text.size();) characters.insert(utf8::next(text, at));
    std::vector<std::string> alphabet;
    std::unordered_map<char32_t, int32_t> ids;
    for (const char32_t character : characters) {
        ids.emplace(character, static_cast<int32_t>(alphabet.size()));
        alphabet.push_back(utf8::encode(character));
    }
    TextCorpus corpus{characterTokenizerJson(alphabet, specials)};
    for (size_t at = 0; at < text.size();) {
        std::vector<int32_t>& part = at < end ? corpus.train : corpus.validation;
        part.push_back(ids.at(utf8::next(text, at)));
    }
    return corpus;
}

/// Accepts any file. The parts are split after 90 % of the bytes.
TextCorpus asBytes(std::string_view text, const std::vector<std::string>& specials) {
    std::array<int32_t, 256> ids{};
    int32_t next = 0;
    for (const unsigned char byte : gpt2Bytes()) ids[byte] = next++;
    const auto end = static_cast<size_t>(static_cast<double>(text.size()) * 0.9);
    TextCorpus corpus{byteLevelTokenizerJson({}, specials)};
    for (size_t at = 0; at < text.size(); ++at)
        (at < end ? corpus.train : corpus.validation).push_back(ids[static_cast<unsigned char>(text[at])]);
    return corpus;
}

/// @param tokenizerJson empty: merges are learned from the training part
TextCorpus asPieces(std::string_view text, int merges, std::string tokenizerJson, const DataSettings& settings,
                    const std::vector<std::string>& specials) {
    const size_t end = endOfTrain(text, settings.text);
    if (tokenizerJson.empty())
        tokenizerJson = byteLevelTokenizerJson(learnBpe(text.substr(0, end), merges, settings.stopPoint), specials);
    TextCorpus corpus{std::move(tokenizerJson)};
    const Tokenizer tokenizer = Tokenizer::fromJson(corpus.tokenizerJson);
    const auto encode = [&](std::string_view whole, std::vector<int32_t>& ids) {
        forEachPart(whole, [&](std::string_view part) {
            settings.stopPoint();
            std::ranges::copy(tokenizer.encode(part, false).ids, std::back_inserter(ids));
        });
    };
    encode(text.substr(0, end), corpus.train);
    encode(text.substr(end), corpus.validation);
    return corpus;
}

} // namespace

TextCorpus readTextCorpus(std::string_view task, const DataSettings& settings,
                          const std::vector<std::string>& specials) {
    constexpr std::string_view kBpe = "bpe:";
    constexpr int kMostMerges = 50000;
    const std::string_view tokens = settings.tokens;
    int merges = 0;
    if (tokens.starts_with(kBpe)) {
        const char* end = tokens.data() + tokens.size();
        const auto [stop, error] = std::from_chars(tokens.data() + kBpe.size(), end, merges);
        if (error != std::errc() || stop != end || merges < 1 || merges > kMostMerges) merges = -1;
    }
    const bool isModels = tokens == kModelTokens && !settings.modelTokenizer.empty() && specials.empty();
    if (merges < 0 || (merges == 0 && tokens != "chars" && tokens != "bytes" && !isModels))
        failParameter(
            task, "tokens", fmt::format("\"{}\" is not a kind of tokens", tokens),
            fmt::format(
                "choose chars, bytes, or bpe:N with N from 1 to {} merges; or {}, if training starts from a model",
                kMostMerges, kModelTokens));
    std::string text = readTaskBytes(task, settings, "choose a UTF-8 text file");
    if (tokens != "bytes") text = withPlainLines(std::move(text));
    if (isModels || merges > 0)
        return asPieces(text, merges, isModels ? settings.modelTokenizer : std::string(), settings, specials);
    return tokens == "chars" ? asCharacters(text, settings.text, specials) : asBytes(text, specials);
}

} // namespace attn
