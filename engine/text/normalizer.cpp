#include "engine/text/normalizer.h"

#include "engine/core/quoting.h"
#include "engine/text/byte_alphabet.h"
#include "engine/text/character_changes.h"
#include "engine/text/json_node.h"
#include "engine/text/text_budget.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace attn {
namespace {

template <class... F> struct Overloaded : F... { using F::operator()...; };
template <class... F> Overloaded(F...) -> Overloaded<F...>; // for compilers without deduction of aggregates

AlignedText stripped(const AlignedText& text, bool left, bool right) {
    const std::string& bytes = text.text();
    size_t begin = 0, end = bytes.size();
    for (size_t at = 0; left && at < bytes.size() && utf8::isWhitespace(utf8::next(bytes, at));) begin = at;
    while (right && end > begin) {
        size_t at = utf8::previous(bytes, end);
        const size_t start = at;
        if (!utf8::isWhitespace(utf8::next(bytes, at))) break;
        end = start;
    }
    return text.slice(begin, end);
}

} // namespace

Normalizer Normalizer::parse(const JsonNode& node) {
    Normalizer normalizer;
    normalizer.add(node, 0);
    return normalizer;
}

void Normalizer::add(const JsonNode& node, int depth) {
    using enum NormalizationForm;
    static constexpr std::array<std::pair<std::string_view, NormalizationForm>, 4> kForms{
        {{"NFC", Nfc}, {"NFD", Nfd}, {"NFKC", Nfkc}, {"NFKD", Nfkd}}};
    const std::string type = node.type();
    if (steps_.size() >= kMostTextSteps) node.fail(fmt::format("is one of more than {} steps", kMostTextSteps));
    if (type == "Sequence") {
        if (depth == 8) node.fail("is nested more than 8 deep");
        for (const JsonNode& item : node.at("normalizers").items()) add(item, depth + 1);
    } else if (type == "Prepend") {
        steps_.emplace_back(Prepend{node.at("prepend").text()});
    } else if (type == "Replace") {
        steps_.emplace_back(Replace{Pattern::parse(node.at("pattern")), node.at("content").text()});
    } else if (type == "Strip") {
        steps_.emplace_back(Strip{node.flag("strip_left", true), node.flag("strip_right", true)});
    } else if (const auto form =
                   std::ranges::find(kForms, type, &std::pair<std::string_view, NormalizationForm>::first);
               form != kForms.end()) {
        steps_.emplace_back(form->second);
    } else if (type == "Lowercase") {
        steps_.emplace_back(Characters{lowercased});
    } else if (type == "StripAccents") {
        steps_.emplace_back(Characters{withoutMarks});
    } else if (type == "Nmt") {
        steps_.emplace_back(Characters{withPlainSpaces});
    } else if (type == "ByteLevel") {
        steps_.emplace_back(ByteLevel{});
    } else if (type == "BertNormalizer") {
        const bool lowercases = node.flag("lowercase", true);
        steps_.emplace_back(BertNormalizer{.cleans = node.flag("clean_text", true),
                                           .separatesIdeographs = node.flag("handle_chinese_chars", true),
                                           .stripsAccents = node.flag("strip_accents", lowercases),
                                           .lowercases = lowercases});
    } else if (type == "Precompiled") {
        const JsonNode charsmap = node.at("precompiled_charsmap");
        steps_.emplace_back(charsmap.naming([&] { return Charsmap::fromBase64(charsmap.text()); }));
    } else {
        node.fail(fmt::format("is a normalizer of type {}, which is not supported", printable(type)),
                  "use a tokenizer with Sequence, Prepend, Replace, Strip, NFC, NFD, NFKC, NFKD, Lowercase, "
                  "StripAccents, Nmt, ByteLevel, BertNormalizer or Precompiled");
    }
}

Normalizer Normalizer::then(const Normalizer& other) const {
    Normalizer both = *this;
    both.steps_.insert(both.steps_.end(), other.steps_.begin(), other.steps_.end());
    return both;
}

AlignedText Normalizer::apply(AlignedText text, TextBudget& budget) const {
    for (const Step& step : steps_)
        std::visit(Overloaded{[&](const Prepend& prepend) {
                                  if (text.empty()) return;
                                  budget.grow(prepend.text.size());
                                  text.prepend(prepend.text);
                              },
                              [&](const Replace& replace) {
                                  text =
                                      text.replaced(replace.pattern.find(text.text(), budget), replace.content, budget);
                              },
                              [&](const Strip& strip) { text = stripped(text, strip.left, strip.right); },
                              [&](NormalizationForm form) {
                                  const size_t before = text.text().size();
                                  text = normalize(text, form);
                                  budget.grow(text.text().size() - std::min(before, text.text().size()));
                              },
                              [&](ByteLevel) {
                                  budget.grow(text.text().size()); // at most twice as long
                                  text = toByteAlphabet(text);
                              },
                              [&](Characters characters) { text = characters.change(text, budget); },
                              [&](const BertNormalizer& bert) { text = bert.apply(std::move(text), budget); },
                              [&](const Charsmap& charsmap) { text = charsmap.applyToClusters(text, budget); },
                              [&](const SentencePieceNormalizer& pieces) { text = pieces.apply(text, budget); }},
                   step);
    return text;
}

} // namespace attn
