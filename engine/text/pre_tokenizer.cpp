#include "engine/text/pre_tokenizer.h"

#include "engine/core/quoting.h"
#include "engine/text/byte_alphabet.h"
#include "engine/text/json_node.h"
#include "engine/text/text_budget.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>
#include <unicode/uscript.h>
#include <unicode/uset.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

namespace attn {
namespace {

/// @source Radford et al. 2019, encoder.py
constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// One punctuation character of ASCII or Unicode 8 (U+166D was punctuation until Unicode 12).
std::string punctuation() {
    UErrorCode error = U_ZERO_ERROR;
    const std::unique_ptr<USet, decltype(&uset_close)> set(uset_openPattern(u"[[:P:]&[:age=8.0:]]", -1, &error),
                                                           uset_close);
    std::string ranges;
    for (int32_t i = 0; i < uset_getItemCount(set.get()); ++i) {
        UChar32 first = 0, last = 0;
        uset_getItem(set.get(), i, &first, &last, nullptr, 0, &error);
        ranges += fmt::format(R"(\x{{{:X}}}-\x{{{:X}}})", first, last);
    }
    return fmt::format(R"([!-/:-@\[-`{{-~\x{{166D}}{}])", ranges);
}

/// The script of a character for the pre-tokenizer "UnicodeScripts"; none if it fits any script.
std::optional<int> scriptOf(char32_t code) {
    if (code == U' ' || utf8::unicodeVersion(code) > 10) return std::nullopt;
    if (code == U'\u30FC') return USCRIPT_HAN;
    UErrorCode error = U_ZERO_ERROR;
    const UScriptCode script = uscript_getScript(static_cast<UChar32>(code), &error);
    if (script == USCRIPT_UNKNOWN) return std::nullopt;
    return script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA ? USCRIPT_HAN : script;
}

} // namespace

PreTokenizer PreTokenizer::parse(const JsonNode& node) {
    PreTokenizer preTokenizer;
    preTokenizer.add(node, 0);
    return preTokenizer;
}

PreTokenizer PreTokenizer::byteLevel(bool addsPrefixSpace) {
    PreTokenizer preTokenizer;
    preTokenizer.addByteLevel(addsPrefixSpace, true);
    return preTokenizer;
}

PreTokenizer PreTokenizer::bert() {
    PreTokenizer preTokenizer;
    preTokenizer.addBert();
    return preTokenizer;
}

PreTokenizer::Matches PreTokenizer::parseMatches(const JsonNode& node) {
    constexpr std::array kNames{"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    const auto found = std::ranges::find(kNames, node.text());
    if (found == kNames.end()) node.fail(fmt::format("is {}, which is not a way to split", printable(node.text())));
    return static_cast<Matches>(found - kNames.begin());
}

void PreTokenizer::addSplit(std::string_view expression, Matches matches, bool inverted) {
    steps_.emplace_back(Split{Pattern::regex(expression), matches, inverted});
}

void PreTokenizer::addBert() {
    addSplit(R"(\s)", Matches::Removed);
    addSplit(punctuation(), Matches::Isolated);
}

void PreTokenizer::addByteLevel(bool addsPrefixSpace, bool cutsWords) {
    if (addsPrefixSpace) steps_.emplace_back(PrefixSpace{});
    if (cutsWords) addSplit(kGpt2, Matches::Isolated);
    steps_.emplace_back(ByteAlphabet{});
}

void PreTokenizer::addMetaspace(const JsonNode& node) {
    using Prepend = Metaspace::Prepend;
    Metaspace metaspace{.prepend = node.flag("add_prefix_space", true) ? Prepend::Always : Prepend::Never,
                        .replacement = node.text("replacement", "\u2581")};
    if (const auto scheme = node.find("prepend_scheme"); scheme && metaspace.prepend != Prepend::Never) {
        if (scheme->text() == "first")
            metaspace.prepend = Prepend::First;
        else if (scheme->text() == "never")
            metaspace.prepend = Prepend::Never;
        else if (scheme->text() != "always")
            scheme->fail(fmt::format("is {}, not always, first or never", printable(scheme->text())));
    }
    if (metaspace.replacement.empty()) node.fail("has an empty replacement");
    const std::string delimiter = metaspace.replacement;
    steps_.emplace_back(std::move(metaspace));
    if (node.flag("split", true))
        steps_.emplace_back(Split{Pattern::literal(delimiter), Matches::MergedWithNext, false});
}

void PreTokenizer::add(const JsonNode& node, int depth) {
    const std::string type = node.type();
    if (steps_.size() >= kMostTextSteps) node.fail(fmt::format("is one of more than {} steps", kMostTextSteps));
    if (type == "Sequence") {
        if (depth == 8) node.fail("is nested more than 8 deep");
        for (const JsonNode& item : node.at("pretokenizers").items()) add(item, depth + 1);
    } else if (type == "ByteLevel") {
        addByteLevel(node.flag("add_prefix_space", true), node.flag("use_regex", true));
    } else if (type == "Split") {
        steps_.emplace_back(
            Split{Pattern::parse(node.at("pattern")), parseMatches(node.at("behavior")), node.flag("invert", false)});
    } else if (type == "Digits") {
        addSplit(R"(\p{N})", node.flag("individual_digits", false) ? Matches::Isolated : Matches::Contiguous);
    } else if (type == "Metaspace") {
        addMetaspace(node);
    } else if (type == "Whitespace") {
        addSplit(fmt::format(R"([{0}]+|[^{0}\s]+)", kRustWordMembers), Matches::Removed, true);
    } else if (type == "WhitespaceSplit") {
        addSplit(R"(\s)", Matches::Removed);
    } else if (type == "CharDelimiterSplit") {
        const std::string delimiter = node.at("delimiter").text();
        if (delimiter.empty()) node.fail("has an empty delimiter");
        steps_.emplace_back(Split{Pattern::literal(delimiter), Matches::Removed, false});
    } else if (type == "UnicodeScripts") {
        steps_.emplace_back(Scripts{});
    } else if (type == "FixedLength") {
        const size_t characters = node.size("length", 5);
        if (characters == 0) node.fail("has the length 0");
        steps_.emplace_back(FixedLength{characters});
    } else if (type == "BertPreTokenizer") {
        addBert();
    } else if (type == "Punctuation") {
        const auto behavior = node.find("behavior");
        addSplit(punctuation(), behavior ? parseMatches(*behavior) : Matches::Isolated);
    } else {
        node.fail(fmt::format("is a pre-tokenizer of type {}, which is not supported", printable(type)),
                  "use a tokenizer with Sequence, ByteLevel, Split, CharDelimiterSplit, Digits, Metaspace, Whitespace, "
                  "WhitespaceSplit, BertPreTokenizer, Punctuation, UnicodeScripts or FixedLength");
    }
}

std::vector<ByteRange> PreTokenizer::cut(const Split& split, std::string_view text, TextBudget& budget) {
    struct Part {
        ByteRange range;
        bool isMatch;
    };
    std::vector<Part> parts;
    size_t done = 0;
    for (const ByteRange& match : split.pattern.find(text, budget)) {
        if (done != match.begin) parts.push_back({{done, match.begin}, split.inverted});
        parts.push_back({match, !split.inverted});
        done = match.end;
    }
    if (done != text.size()) parts.push_back({{done, text.size()}, split.inverted});

    std::vector<ByteRange> pieces;
    for (size_t i = 0; i < parts.size(); ++i) {
        const bool isMatch = parts[i].isMatch, followsMatch = i > 0 && parts[i - 1].isMatch;
        const bool joins = i > 0 && ((split.matches == Matches::Contiguous && isMatch == followsMatch) ||
                                     (split.matches == Matches::MergedWithPrevious && isMatch && !followsMatch) ||
                                     (split.matches == Matches::MergedWithNext && !isMatch && followsMatch));
        if (joins)
            pieces.back().end = parts[i].range.end;
        else if (split.matches != Matches::Removed || !isMatch)
            pieces.push_back(parts[i].range);
    }
    std::erase_if(pieces, [](const ByteRange& piece) { return piece.begin == piece.end; });
    return pieces;
}

std::vector<ByteRange> PreTokenizer::cut(Scripts, std::string_view text) {
    std::vector<ByteRange> pieces;
    std::optional<int> before; // of the last character with a script
    for (size_t at = 0; at < text.size();) {
        const size_t begin = at;
        const auto script = scriptOf(utf8::next(text, at));
        if (script && script != before)
            pieces.push_back({begin, at});
        else if (!pieces.empty()) // the library drops the text before the first script
            pieces.back().end = at;
        if (script) before = script;
    }
    return pieces;
}

std::vector<ByteRange> PreTokenizer::cut(FixedLength length, std::string_view text) {
    std::vector<ByteRange> pieces;
    size_t count = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t begin = at;
        utf8::next(text, at);
        if (count++ % length.characters == 0)
            pieces.push_back({begin, at});
        else
            pieces.back().end = at;
    }
    return pieces;
}

std::vector<AlignedText> PreTokenizer::apply(AlignedText text) const {
    TextBudget budget(text.text().size());
    return apply(std::move(text), budget);
}

std::vector<AlignedText> PreTokenizer::apply(AlignedText text, TextBudget& budget) const {
    const auto prepend = [&](AlignedText& piece, std::string_view prefix) {
        budget.grow(prefix.size());
        piece.prepend(prefix);
    };
    std::vector<AlignedText> pieces;
    if (!text.empty()) pieces.push_back(std::move(text));
    for (const Step& step : steps_) {
        const auto cutAll = [&](const auto& cutOne) {
            std::vector<AlignedText> smaller;
            for (const AlignedText& piece : pieces)
                for (const ByteRange& range : cutOne(piece.text()))
                    smaller.push_back(piece.slice(range.begin, range.end));
            pieces = std::move(smaller);
        };
        if (const auto* split = std::get_if<Split>(&step)) {
            cutAll([&](std::string_view piece) { return cut(*split, piece, budget); });
            continue;
        }
        if (std::holds_alternative<Scripts>(step)) {
            cutAll([](std::string_view piece) { return cut(Scripts{}, piece); });
            continue;
        }
        if (const auto* length = std::get_if<FixedLength>(&step)) {
            cutAll([&](std::string_view piece) { return cut(*length, piece); });
            continue;
        }
        for (AlignedText& piece : pieces) {
            if (std::holds_alternative<PrefixSpace>(step)) {
                if (!piece.text().starts_with(' ')) prepend(piece, " ");
            } else if (std::holds_alternative<ByteAlphabet>(step)) {
                budget.grow(piece.text().size()); // at most twice as long
                piece = toByteAlphabet(piece);
            } else {
                const auto& metaspace = std::get<Metaspace>(step);
                piece = piece.replaced(Pattern::literal(" ").find(piece.text(), budget), metaspace.replacement, budget);
                const bool wantsPrefix =
                    metaspace.prepend == Metaspace::Prepend::Always ||
                    (metaspace.prepend == Metaspace::Prepend::First && piece.origin(0, 1).begin == 0);
                if (wantsPrefix && !piece.text().starts_with(metaspace.replacement))
                    prepend(piece, metaspace.replacement);
            }
        }
    }
    return pieces;
}

} // namespace attn
