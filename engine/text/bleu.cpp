#include "engine/text/bleu.h"

#include "engine/text/utf8.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <unordered_map>

namespace attn {
namespace {

constexpr size_t kMostTokens = 4; ///< of an n-gram

bool isBetweenTokens(char32_t character) {
    return utf8::isWhitespace(character) || (character >= 0x1C && character <= 0x1F); // as Python's split()
}

void replaceEach(std::string& text, std::string_view from, std::string_view to) {
    std::string replaced;
    size_t done = 0;
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; done = at) {
        replaced.append(text, done, at - done).append(to);
        at += from.size();
    }
    if (done > 0) text = replaced.append(text, done);
}

bool isDigitOf(char byte) { return byte >= '0' && byte <= '9'; }
bool isStop(char byte) { return byte == '.' || byte == ','; }
/// ASCII punctuation but ' , - and .
bool isMark(char byte) {
    return (byte >= '!' && byte <= '&') || (byte >= '(' && byte <= '+') || byte == '/' ||
           (byte >= ':' && byte <= '@') || (byte >= '[' && byte <= '`') || (byte >= '{' && byte <= '~');
}

/// Puts a space between two neighbours of given kinds, and around the one that stands apart. Pairs do not overlap.
template <class First, class Second>
void separate(std::string& text, const First& isFirst, const Second& isSecond, bool isFirstApart) {
    std::string spaced;
    spaced.reserve(2 * text.size());
    for (size_t at = 0; at < text.size(); ++at) {
        if (at + 1 == text.size() || !isFirst(text[at]) || !isSecond(text[at + 1])) {
            spaced += text[at];
            continue;
        }
        if (isFirstApart) spaced += ' ';
        spaced += text[at++];
        spaced += ' ';
        spaced += text[at];
        if (!isFirstApart) spaced += ' ';
    }
    text = std::move(spaced);
}

/// The count of each sequence of `count` tokens. The key is the tokens with spaces between them.
std::unordered_map<std::string, uint64_t> ngrams(const std::vector<std::string>& tokens, size_t count) {
    std::unordered_map<std::string, uint64_t> counts;
    for (size_t begin = 0; begin + count <= tokens.size(); ++begin) {
        std::string joined = tokens[begin];
        for (size_t i = 1; i < count; ++i) joined += " " + tokens[begin + i];
        ++counts[joined];
    }
    return counts;
}

} // namespace

std::vector<std::string> bleuTokens(std::string_view text) {
    while (!text.empty()) {
        const size_t begin = utf8::previous(text, text.size());
        size_t at = begin;
        if (!isBetweenTokens(utf8::next(text, at))) break;
        text = text.substr(0, begin);
    }
    std::string line(text);
    replaceEach(line, "<skipped>", "");
    replaceEach(line, "-\n", "");
    replaceEach(line, "\n", " ");
    replaceEach(line, "&quot;", "\"");
    replaceEach(line, "&amp;", "&");
    replaceEach(line, "&lt;", "<");
    replaceEach(line, "&gt;", ">");

    std::string spaced = " ";
    for (const char byte : line) spaced += isMark(byte) ? std::string{' ', byte, ' '} : std::string{byte};
    spaced += ' ';
    const auto isNoDigit = [](char byte) { return !isDigitOf(byte); };
    separate(spaced, isNoDigit, isStop, false);
    separate(spaced, isStop, isNoDigit, true);
    separate(
        spaced, isDigitOf, [](char byte) { return byte == '-'; }, false);

    std::vector<std::string> tokens;
    bool isInToken = false;
    for (size_t at = 0; at < spaced.size();) {
        const size_t begin = at;
        const bool isPart = !isBetweenTokens(utf8::next(spaced, at));
        if (isPart && !isInToken) tokens.emplace_back();
        if (isPart) tokens.back().append(spaced, begin, at - begin);
        isInToken = isPart;
    }
    return tokens;
}

Bleu corpusBleu(std::span<const std::string> translations, std::span<const std::string> references) {
    assert(translations.size() == references.size());
    Bleu bleu;
    std::array<uint64_t, kMostTokens> matches{}, totals{};
    for (size_t i = 0; i < translations.size(); ++i) {
        const std::vector<std::string> tokens = bleuTokens(translations[i]), wanted = bleuTokens(references[i]);
        bleu.length += tokens.size();
        bleu.referenceLength += wanted.size();
        for (size_t n = 1; n <= kMostTokens; ++n) {
            const auto present = ngrams(wanted, n);
            for (const auto& [ngram, count] : ngrams(tokens, n)) {
                totals[n - 1] += count;
                if (const auto found = present.find(ngram); found != present.end())
                    matches[n - 1] += std::min(count, found->second); // "modified" precision, section 2.1
            }
        }
    }
    if (bleu.length < bleu.referenceLength)
        bleu.brevityPenalty =
            bleu.length == 0
                ? 0
                : std::exp(1 - static_cast<double>(bleu.referenceLength) / static_cast<double>(bleu.length));
    if (matches[0] == 0) return bleu;
    double logarithms = 0, smoothing = 1;
    for (size_t n = 0; n < kMostTokens; ++n) {
        if (totals[n] == 0) return bleu; // all translations are too short
        if (matches[n] == 0) smoothing *= 2;
        const double numerator = matches[n] == 0 ? 1 / smoothing : static_cast<double>(matches[n]);
        bleu.precisions[n] = 100 * numerator / static_cast<double>(totals[n]);
        logarithms += std::log(bleu.precisions[n]);
    }
    bleu.score = bleu.brevityPenalty * std::exp(logarithms / kMostTokens);
    return bleu;
}

} // namespace attn
