#pragma once

#include "engine/text/aligned_text.h"
#include "engine/text/pattern.h"

#include <variant>

namespace attn {

class JsonNode;
class TextBudget;

/// Cuts text into the words that are encoded one by one: tokenizer.json's "pre_tokenizer".
class PreTokenizer {
public:
    /// Leaves the text whole.
    PreTokenizer() = default;
    /// Reads a pre-tokenizer. @throws Error naming a kind that is not supported
    static PreTokenizer parse(const JsonNode& node);

    /// GPT-2's: words of the byte alphabet. @param addsPrefixSpace puts a space before a text that begins without one
    static PreTokenizer byteLevel(bool addsPrefixSpace);
    /// BERT's: words between white space, and each character of punctuation by itself.
    static PreTokenizer bert();

    /// Cuts a text. @param budget for the whole text of which this is a part  @return non-empty pieces in order
    /// @throws Error if the text becomes too long or costs too much
    std::vector<AlignedText> apply(AlignedText text, TextBudget& budget) const;
    /// Cuts a whole text, with a budget of its own.
    std::vector<AlignedText> apply(AlignedText text) const;

private:
    enum class Matches { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };
    struct Split {
        Pattern pattern;
        Matches matches;
        bool inverted; ///< the text between the matches counts as the matches
    };
    struct PrefixSpace {};
    struct ByteAlphabet {};
    struct Metaspace {
        enum class Prepend { Always, First, Never } prepend;
        std::string replacement;
    };
    struct Scripts {}; ///< cuts where the script changes
    struct FixedLength {
        size_t characters;
    };
    using Step = std::variant<Split, PrefixSpace, ByteAlphabet, Metaspace, Scripts, FixedLength>;

    void add(const JsonNode& node, int depth);
    void addBert();
    void addByteLevel(bool addsPrefixSpace, bool cutsWords);
    void addMetaspace(const JsonNode& node);
    void addSplit(std::string_view expression, Matches matches, bool inverted = false);
    static Matches parseMatches(const JsonNode& node);
    static std::vector<ByteRange> cut(const Split& split, std::string_view text, TextBudget& budget);
    static std::vector<ByteRange> cut(Scripts, std::string_view text);
    static std::vector<ByteRange> cut(FixedLength length, std::string_view text);

    std::vector<Step> steps_;
};

} // namespace attn
