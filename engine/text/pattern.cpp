#include "engine/text/pattern.h"

#include "engine/core/error.h"
#include "engine/text/json_node.h"
#include "engine/text/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <fmt/format.h>

namespace attn {
namespace {

template <auto Free> struct Freed {
    template <class T> void operator()(T* object) const { Free(object); }
};

std::string messageOf(int error) {
    PCRE2_UCHAR text[256];
    if (pcre2_get_error_message(error, text, sizeof text) < 0) return fmt::format("PCRE2 error {}", error);
    return reinterpret_cast<const char*>(text);
}

PCRE2_SPTR subject(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

} // namespace

struct Pattern::Code {
    std::unique_ptr<pcre2_code, Freed<pcre2_code_free>> compiled;
    std::string expression;
};

Pattern Pattern::literal(std::string text) {
    Pattern pattern;
    pattern.literal_ = std::move(text);
    return pattern;
}

Pattern Pattern::regex(std::string_view expression) {
    const std::string translated = translateFromOniguruma(expression);
    const std::unique_ptr<pcre2_compile_context, Freed<pcre2_compile_context_free>> context(
        pcre2_compile_context_create(nullptr));
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    int error = 0;
    size_t place = 0;
    auto code = std::make_shared<Code>();
    code->expression = expression;
    code->compiled.reset(pcre2_compile(subject(translated), translated.size(),
                                       PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                                       &place, context.get()));
    if (!code->compiled)
        throw Error({.what = fmt::format("the regular expression {} cannot be used: {}", expression, messageOf(error)),
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
    try {
        return regex(expression.text());
    } catch (const Error& error) {
        if (!error.where().empty()) throw;
        expression.fail("is unusable: " + error.message(), error.hint());
    }
}

std::vector<ByteRange> Pattern::find(std::string_view text) const {
    std::vector<ByteRange> matches;
    if (!code_) {
        if (literal_.empty()) return matches;
        for (size_t at = 0; (at = text.find(literal_, at)) != std::string_view::npos; at += literal_.size())
            matches.push_back({at, at + literal_.size()});
        return matches;
    }
    const pcre2_code* code = code_->compiled.get();
    const std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>> data(pcre2_match_data_create(1, nullptr));
    for (size_t at = 0; at <= text.size();) {
        int found = pcre2_match(code, subject(text), text.size(), at, PCRE2_NO_UTF_CHECK, data.get(), nullptr);
        // The just-in-time code has a small fixed stack; the interpreter grows on the heap.
        if (found == PCRE2_ERROR_JIT_STACKLIMIT)
            found = pcre2_match(code, subject(text), text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data.get(),
                                nullptr);
        if (found == PCRE2_ERROR_NOMATCH) break;
        const size_t* range = pcre2_get_ovector_pointer(data.get());
        if (found < 0 || range[0] > range[1])
            throw Error(
                {.what = fmt::format("the tokenizer's expression {} fails at byte {} of {}: {}", code_->expression, at,
                                     text.size(), found < 0 ? messageOf(found) : "a match that ends before it begins"),
                 .where = "text",
                 .hint = "enter the text in shorter parts"});
        const ByteRange match{range[0], range[1]};
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
