#include "engine/text/pattern.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/text/json_node.h"
#include "engine/text/text_budget.h"
#include "engine/text/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace attn {

template <auto Free> struct Freed {
    template <class T> void operator()(T* object) const { Free(object); }
};

namespace {

std::string messageOf(int error) {
    PCRE2_UCHAR text[256];
    if (pcre2_get_error_message(error, text, sizeof text) < 0) return fmt::format("PCRE2 error {}", error);
    return reinterpret_cast<const char*>(text);
}

/// The number of letters that a part of an expression may read before it fails. PCRE2 does not report how far it came.
/// @param part in PCRE2's syntax  @param rest letters up to the end of the text
size_t leastLength(std::string_view part, size_t rest) {
    if (part.size() < 2) return 1;
    const bool isEscape = part.front() == '\\';
    // The part is a cluster of letters and marks, or repeats the text of a group.
    if (isEscape && std::string_view("Xkg123456789").find(part[1]) != std::string_view::npos) return rest;
    if (part.starts_with("(?P=")) return rest;
    if (part.back() == '+' || part.back() == '?') part.remove_suffix(1);
    const size_t brace = part.rfind('{');
    const bool isRepeated = part.back() == '}' && !(isEscape && brace == 2 && std::isalpha(part[1]) != 0); // not \x{85}
    if (!isRepeated || brace == std::string_view::npos) return 1;
    size_t repetitions = 1;
    std::from_chars(part.data() + brace + 1, part.data() + part.size(), repetitions);
    return std::min(repetitions, rest);
}

PCRE2_SPTR subject(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

} // namespace

struct Pattern::Code {
    std::unique_ptr<pcre2_code, Freed<pcre2_code_free>> compiled;
    std::string expression, translated;
};

Pattern Pattern::literal(std::string text) {
    Pattern pattern;
    pattern.literal_ = std::move(text);
    return pattern;
}

Pattern Pattern::regex(std::string_view expression) {
    constexpr size_t kLongest = size_t{1} << 14; // the longest known tokenizers have 500 bytes
    if (expression.size() > kLongest)
        throw Error({.what = fmt::format("a regular expression has {} bytes; at most {} are supported",
                                         expression.size(), kLongest),
                     .hint = "use a tokenizer.json with shorter expressions"});
    const std::string translated = translateFromOniguruma(expression);
    const std::unique_ptr<pcre2_compile_context, Freed<pcre2_compile_context_free>> context(
        pcre2_compile_context_create(nullptr));
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    int error = 0;
    size_t place = 0;
    auto code = std::make_shared<Code>();
    code->expression = expression;
    code->translated = translated;
    code->compiled.reset(
        pcre2_compile(subject(translated), translated.size(),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT, &error,
                      &place, context.get()));
    if (!code->compiled)
        throw Error({.what = fmt::format("the regular expression {} cannot be used: {}", printable(expression),
                                         messageOf(error)),
                     .hint = "use a tokenizer.json whose expressions PCRE2 understands"});
    pcre2_jit_compile(code->compiled.get(), PCRE2_JIT_COMPLETE); // without it, the interpreter runs the expression
    Pattern pattern;
    pattern.code_ = std::move(code);
    return pattern;
}

Pattern Pattern::parse(const JsonNode& node) {
    if (node.isText()) return literal(node.text());
    if (const auto text = node.find("String")) return literal(text->text());
    const JsonNode expression = node.at("Regex");
    return expression.naming([&] { return regex(expression.text()); }, "is unusable: ");
}

/// Searches one text. PCRE2's own limits start again at each place where a match may begin, and ignore letters that one
/// part of an expression reads, so a text of n letters could cost n^2. Here every part that is tried is charged to the
/// budget of the whole text, with the letters that the search moved since the previous part.
class Pattern::Search {
public:
    Search(const Code& code, std::string_view text, TextBudget& budget)
        : code_(code), text_(text), budget_(budget), data_(pcre2_match_data_create(1, nullptr)),
          context_(pcre2_match_context_create(nullptr)) {
        constexpr uint32_t kMostHeapKib = 64 << 10;
        pcre2_set_heap_limit(context_.get(), kMostHeapKib);
        pcre2_set_match_limit(context_.get(), UINT32_MAX);
        pcre2_set_callout(
            context_.get(),
            [](pcre2_callout_block* block, void* search) {
                return static_cast<Search*>(search)->pay(*block) ? 0 : PCRE2_ERROR_MATCHLIMIT;
            },
            this);
    }

    /// The first match from a byte on. @throws Error if it costs too much
    std::optional<ByteRange> next(size_t at) {
        const auto run = [&](uint32_t options) {
            place_ = at;
            return pcre2_match(code_.compiled.get(), subject(text_), text_.size(), at, PCRE2_NO_UTF_CHECK | options,
                               data_.get(), context_.get());
        };
        const int found = run(0);
        // The just-in-time code has a small fixed stack; the interpreter grows on the heap.
        return range(found == PCRE2_ERROR_JIT_STACKLIMIT ? run(PCRE2_NO_JIT) : found, at);
    }

private:
    /// Charges the budget for the work since the last call. @return false if too little is left
    bool pay(const pcre2_callout_block& block) {
        const size_t now = block.current_position, moved = std::max(now, place_) - std::min(now, place_);
        place_ = now;
        const std::string_view part =
            std::string_view(code_.translated).substr(block.pattern_position, block.next_item_length);
        return budget_.takeSearch(1 + moved + leastLength(part, text_.size() - now));
    }

    std::optional<ByteRange> range(int found, size_t at) const {
        if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
        const size_t* ends = pcre2_get_ovector_pointer(data_.get());
        if (found < 0 || ends[0] > ends[1])
            throw Error({.what = fmt::format("the tokenizer's expression {} fails at byte {} of {}: {}",
                                             printable(code_.expression), at, text_.size(),
                                             found < 0 ? messageOf(found) : "a match that ends before it begins"),
                         .where = "text",
                         .hint = "enter the text in shorter parts"});
        return ByteRange{ends[0], ends[1]};
    }

    const Code& code_;
    std::string_view text_;
    TextBudget& budget_;
    size_t place_ = 0; ///< of the last part that was tried
    std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>> data_;
    std::unique_ptr<pcre2_match_context, Freed<pcre2_match_context_free>> context_;
};

std::vector<ByteRange> Pattern::find(std::string_view text, TextBudget& budget) const {
    std::vector<ByteRange> matches;
    if (!code_) {
        if (literal_.empty()) return matches;
        for (size_t at = 0; (at = text.find(literal_, at)) != std::string_view::npos; at += literal_.size())
            matches.push_back({at, at + literal_.size()});
        return matches;
    }
    Search search(*code_, text, budget);
    for (size_t at = 0; at <= text.size();) {
        const std::optional<ByteRange> found = search.next(at);
        if (!found) break;
        const ByteRange match = *found;
        const bool isEmpty = match.begin == match.end;
        // An empty match directly after the previous match does not count.
        const bool touches = isEmpty && !matches.empty() && matches.back().end == match.begin;
        if (!touches && (matches.empty() || match.begin >= matches.back().end)) matches.push_back(match);
        at = match.end;
        if (isEmpty) {
            if (at == text.size()) break;
            utf8::next(text, at);
        }
    }
    return matches;
}

} // namespace attn
