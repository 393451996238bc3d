#include "engine/attention/mask/catalogue.h"
#include "engine/attention/mask/expression.h"
#include "engine/attention/part.h"
#include "engine/core/error.h"
#include "engine/core/nearest_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace attn {

/// Parses the text in one pass, with a function for each level of binding. Each level of brackets is a level of
/// recursion here and in every later walk of the expression, so their number is limited.
class MaskParser {
public:
    MaskParser(std::string_view text, std::span<const Part* const> known) : text_(text), known_(known) {}

    MaskExpression parse() {
        skipBlanks();
        if (atEnd()) fail("the mask expression is empty", "write a term such as causal or window(32)");
        Node root = parseOr();
        if (!atEnd()) fail(fmt::format("{} follows the end of the expression", found()), kGoOn);
        size_t seen = 0;
        refuseHiddenContent(root, true, seen);
        return MaskExpression(std::move(root));
    }

private:
    using Node = MaskExpression::Node;
    using Kind = MaskExpression::Kind;

    static constexpr int kDeepest = 100;
    static constexpr size_t kLongestQuote = 32;
    static constexpr const char* kGoOn = "continue with & or |, or remove it";
    static constexpr const char* kPerHead = "per_head";
    static constexpr const char* kPerLayer = "per_layer";

    static bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
    static bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
    static bool isDigit(char c) { return c >= '0' && c <= '9'; }
    static bool isWithinCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; } // of UTF-8

    bool atEnd() const { return at_ == text_.size(); }
    char next() const { return atEnd() ? '\0' : text_[at_]; }
    void skipBlanks() {
        while (!atEnd() && isBlank(text_[at_])) ++at_;
    }
    bool accept(char c) {
        if (next() != c || atEnd()) return false;
        ++at_;
        skipBlanks();
        return true;
    }
    std::string_view takeWord() {
        const size_t begin = at_;
        while (isLetter(next()) || isDigit(next())) ++at_;
        return text_.substr(begin, at_ - begin);
    }

    [[noreturn]] void fail(std::string what, std::string hint) const { failAt(at_, std::move(what), std::move(hint)); }
    /// Counted from 1, as a reader counts.
    std::ptrdiff_t characterAt(size_t place) const {
        return 1 + std::ranges::count_if(text_.substr(0, place), [](char c) { return !isWithinCharacter(c); });
    }
    [[noreturn]] void failAt(size_t place, std::string what, std::string hint) const {
        throw Error({.what = std::move(what),
                     .where = fmt::format("character {} of the mask expression", characterAt(place)),
                     .hint = std::move(hint)});
    }
    /// The word, the character or the end at the position, for a message.
    std::string found() const {
        if (atEnd()) return "the end";
        if (const auto byte = static_cast<unsigned char>(text_[at_]); byte < ' ' || byte == 0x7F)
            return fmt::format("the control character {}", byte);
        size_t end = at_ + 1;
        if (isLetter(text_[at_]) || isDigit(text_[at_]))
            while (end < text_.size() && (isLetter(text_[end]) || isDigit(text_[end]))) ++end;
        else
            while (end < text_.size() && isWithinCharacter(text_[end])) ++end;
        return quoted(text_.substr(at_, end - at_));
    }
    static std::string quoted(std::string_view word) {
        const bool isLong = word.size() > kLongestQuote;
        return fmt::format("\"{}{}\"", word.substr(0, kLongestQuote), isLong ? "..." : "");
    }

    /// Holds one level of nesting open.
    struct Level {
        explicit Level(MaskParser& parser) : depth(parser.depth_) {
            if (++depth > kDeepest)
                parser.fail(fmt::format("brackets and ~ are nested more than {} deep", kDeepest), "use fewer levels");
        }
        ~Level() { --depth; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;
        int& depth;
    };

    Node parseOr() {
        return parseChain('|', Kind::Or, [this] { return parseAnd(); });
    }
    Node parseAnd() {
        return parseChain('&', Kind::And, [this] { return parseFactor(); });
    }
    template <class Operand> Node parseChain(char sign, Kind kind, Operand operand) {
        Node first = operand();
        if (next() != sign) return first;
        Node chain{.kind = kind};
        append(chain, std::move(first));
        while (accept(sign)) append(chain, operand());
        return chain;
    }
    /// (a & b) & c and a & (b & c) are one formula.
    static void append(Node& chain, Node operand) {
        if (operand.kind == chain.kind)
            std::ranges::move(operand.operands, std::back_inserter(chain.operands));
        else
            chain.operands.push_back(std::move(operand));
    }

    Node parseFactor() {
        const Level level(*this);
        if (accept('~')) {
            Node node{.kind = Kind::Not};
            node.operands.push_back(parseFactor());
            return node;
        }
        if (const size_t opening = at_; accept('(')) {
            Node node = parseOr();
            if (!accept(')')) failUnclosed(opening, "continue with & or |");
            return node;
        }
        if (!isLetter(next()))
            fail(fmt::format("a term was expected, but {} was found", found()),
                 next() == '!' ? "write ~ for not" : "write a term such as causal or window(32), ~ or a bracket");
        const size_t begin = at_;
        const std::string_view name = takeWord();
        skipBlanks();
        if (name == kPerHead || name == kPerLayer) return parseChoice(name);
        return parseTerm(begin, name);
    }

    /// per_head(a, b, ...) or per_layer(...).
    Node parseChoice(std::string_view name) {
        Node node{.kind = name == kPerHead ? Kind::PerHead : Kind::PerLayer};
        const size_t opening = at_;
        if (!accept('('))
            fail(fmt::format("{} needs its expressions in brackets", name),
                 fmt::format("write {}(causal, full)", name));
        do node.operands.push_back(parseOr());
        while (accept(','));
        if (!accept(')')) failUnclosed(opening, "continue with &, | or a comma");
        return node;
    }

    Node parseTerm(size_t begin, std::string_view name) {
        const auto part = std::ranges::find(known_, name, &Part::id);
        if (part == known_.end()) {
            if (name == "lsh" || name == "routing")
                failAt(begin, fmt::format("{} is no mask: it never forms the pairs that it hides", name),
                       fmt::format("write {} in place of it", name == "lsh"
                                                                  ? "heads=shared_query_key, normaliser=reformer"
                                                                  : "normaliser=routing"));
            std::vector<std::string> names{kPerHead, kPerLayer};
            for (const Part* other : known_) names.emplace_back(other->id);
            failAt(
                begin, fmt::format("there is no mask term {}", quoted(name)),
                fmt::format("the nearest name is {}", nearestNames(name.substr(0, kLongestQuote), names, 1).front()));
        }
        Node node{.part = *part};
        if (const size_t opening = at_; accept('(') && !accept(')')) {
            do node.values.push_back(parseNumber(**part, node.values.size()));
            while (accept(','));
            if (!accept(')')) failUnclosed(opening, "continue with a comma");
        }
        prepare(node, begin);
        if (node.isContent()) contentPlaces_.push_back(begin);
        return node;
    }

    /// The parameter that describes an argument; none where there are too many.
    static const Param* paramOf(const Part& part, size_t index) {
        if (index < part.params.size()) return &part.params[index];
        return part.takesList ? &part.params.back() : nullptr;
    }

    double parseNumber(const Part& part, size_t index) {
        const size_t begin = at_;
        double value = 0;
        const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        const Param* param = paramOf(part, index);
        const std::string name = param ? fmt::format("{} of {}", param->id, part.id) : std::string(part.id);
        if (error == std::errc::invalid_argument || !std::isfinite(value))
            fail(fmt::format("a number was expected for {}, but {} was found", name, found()), "write a number");
        at_ = static_cast<size_t>(stop - text_.data());
        const std::string_view number = text_.substr(begin, at_ - begin);
        if (param != nullptr) {
            const auto range = fmt::format("give {} from {} to {}",
                                           param->kind == Param::Kind::Integer ? "a whole number" : "a number",
                                           param->minimum, param->maximum);
            if (param->kind == Param::Kind::Integer && value != std::floor(value))
                failAt(begin, fmt::format("{} is {}, which is not a whole number", name, quoted(number)), range);
            if (error == std::errc::result_out_of_range || value < param->minimum || value > param->maximum)
                failAt(begin, fmt::format("{} is {}, which is out of its range", name, quoted(number)), range);
            // A step above 1 allows only some numbers, such as the odd ones.
            if (param->step > 1 && std::fmod(value - param->minimum, param->step) != 0)
                failAt(begin, fmt::format("{} is {}, which lies between two steps", name, quoted(number)),
                       fmt::format("give {}, {}, {} ...", param->minimum, param->minimum + param->step,
                                   param->minimum + 2 * param->step));
        }
        skipBlanks();
        return value;
    }

    void prepare(Node& node, size_t begin) const {
        const Part& part = *node.part;
        if (node.values.empty()) node.values = initialValues(part);
        const size_t given = node.values.size(), most = part.params.size();
        const size_t wanted = most - part.mask.optionalParams;
        for (size_t i = given; given >= wanted && i < most; ++i) node.values.push_back(part.params[i].initial);
        if (given < wanted || (given > most && !part.takesList)) {
            std::vector<std::string_view> names;
            for (const Param& param : part.params) names.push_back(param.id);
            const std::string form =
                names.empty() ? std::string(part.id)
                              : fmt::format("{}({}{})", part.id, fmt::join(names, ", "), part.takesList ? ", ..." : "");
            failAt(begin,
                   fmt::format("{} takes {}{}{} number{}, not {}", part.id, part.takesList ? "at least " : "",
                               wanted == 0 ? "no" : std::to_string(wanted),
                               most > wanted ? fmt::format(" {} {}", most > wanted + 1 ? "to" : "or", most) : "",
                               most == 1 ? "" : "s", given),
                   fmt::format("write {}", form));
        }
        if (part.mask.prepare == nullptr) return;
        try {
            node.prepared = part.mask.prepare({part.params, node.values});
        } catch (const Error& error) {
            failAt(begin, fmt::format("{}: {}", part.id, error.message()), error.hint());
        }
    }

    [[noreturn]] void failUnclosed(size_t opening, std::string_view goOn) const {
        fail(fmt::format("{} was found, but the bracket opened at character {} is not closed", found(),
                         characterAt(opening)),
             fmt::format("write ) or {}", goOn));
    }

    /// @param seen content terms so far, in the order of the text
    void refuseHiddenContent(const Node& node, bool isFactor, size_t& seen) const {
        if (node.isContent()) {
            if (!isFactor)
                failAt(contentPlaces_[seen],
                       fmt::format("{} depends on the content, so only the outermost & may join it", node.part->id),
                       fmt::format("write ... & {}", termText(*node.part, node.values)));
            ++seen;
        }
        const bool keepsFactors = isFactor && node.kind == Kind::And;
        for (const Node& operand : node.operands) refuseHiddenContent(operand, keepsFactors, seen);
    }

    std::string_view text_;
    std::span<const Part* const> known_;
    size_t at_ = 0;
    int depth_ = 0;
    std::vector<size_t> contentPlaces_;
};

MaskExpression MaskExpression::parse(std::string_view text) { return parse(text, maskParts()); }

MaskExpression MaskExpression::parse(std::string_view text, std::span<const Part* const> known) {
    return MaskParser(text, known).parse();
}

} // namespace attn
