#include "engine/data/word_pieces.h"

#include "engine/data/bpe_learner.h"
#include "engine/data/story_writer.h"
#include "engine/data/text_parts.h"
#include "engine/text/bert_normalizer.h"
#include "engine/text/bert_vocabulary.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/text_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace attn {
namespace {

constexpr int kStoryCount = 4000;

std::string storyText() {
    std::string text;
    for (int index = 0; index < kStoryCount; ++index) {
        Draws draws(0, static_cast<uint64_t>(index), 0);
        text += stories::write(draws, 0).text + "\n";
    }
    return text;
}

/// The words of a text as BERT's tokenizer cuts them, with their counts. BERT treats a line break as a space, so each
/// line can be converted by itself.
std::map<std::string, int64_t> countWords(std::string_view text, const StopPoint& stopPoint) {
    std::map<std::string, int64_t> counts;
    const PreTokenizer preTokenizer = PreTokenizer::bert();
    forEachLine(text, [&](std::string_view line) {
        forEachPart(line, [&](std::string_view part) {
            stopPoint();
            TextBudget budget(part.size());
            AlignedText normal = BertNormalizer().apply(AlignedText(part, 0), budget);
            for (const AlignedText& word : preTokenizer.apply(std::move(normal), budget)) ++counts[word.text()];
        });
    });
    return counts;
}

} // namespace

std::string readTaskBytes(std::string_view task, const DataSettings& settings, std::string_view file) {
    if (settings.text == kBuiltinStories) return storyText();
    if (settings.text.empty())
        failParameter(task, "text", "the task needs a text to learn from",
                      fmt::format("{}, or {}", file, kBuiltinStories));
    return readPersonsFile(settings.text);
}

std::string readTaskText(std::string_view task, const DataSettings& settings, std::string_view file) {
    std::string text = withPlainLines(readTaskBytes(task, settings, file));
    requireUtf8(text, settings.text);
    return text;
}

std::string wordPieceTokenizer(const DataSettings& settings, std::string_view text, int vocabulary) {
    if (settings.tokens == kModelTokens) return settings.modelTokenizer;
    const BertOptions bert;
    std::vector<std::string> tokens{bert.padding, bert.unknown, bert.first, bert.separator, bert.mask};
    const size_t room = static_cast<size_t>(vocabulary) - tokens.size();
    std::ranges::move(learnWordPieces(countWords(text, settings.stopPoint), room, settings.stopPoint),
                      std::back_inserter(tokens));
    return bertTokenizerJson(tokens, bert);
}

TextCorpus readWordPieces(std::string_view task, const DataSettings& settings, int vocabulary) {
    const std::string text = readTaskText(task, settings, "choose a UTF-8 text file");
    const size_t middle = text.size() / 10 * 9, found = text.find('\n', middle);
    if (found == std::string::npos)
        failParameter(task, "text", "the last tenth of the text has no line break", "break the text into lines");
    const std::string_view train = std::string_view(text).substr(0, found + 1),
                           rest = std::string_view(text).substr(found + 1);
    TextCorpus corpus{wordPieceTokenizer(settings, train, vocabulary)};
    const Tokenizer tokenizer = Tokenizer::fromJson(corpus.tokenizerJson);
    if (!tokenizer.beginId() || !tokenizer.endId() || !tokenizer.maskId())
        failParameter(task, "tokenizer", "the model has no token that stands for a hidden word",
                      "choose a model that fills in masked tokens");
    const auto readPart = [&](std::string_view part, std::vector<int32_t>& ids) {
        forEachLine(part, [&](std::string_view line) {
            forEachPart(line, [&](std::string_view piece) {
                settings.stopPoint();
                std::ranges::copy(tokenizer.encode(piece, false).ids, std::back_inserter(ids));
            });
        });
    };
    readPart(train, corpus.train);
    readPart(rest, corpus.validation);
    return corpus;
}

} // namespace attn
