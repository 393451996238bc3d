#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attn {

class JsonNode;

/// Gives a string and a view of it the same hash, so that a map of strings is searched without copies.
struct StringHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <class Value> using StringMap = std::unordered_map<std::string, Value, StringHash, std::equal_to<>>;

/// Byte-pair encoding: starts from characters and merges neighbours, always the leftmost pair of the lowest rank.
/// @source Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units", arXiv:1508.07909,
/// section 3.2
class Bpe {
public:
    /// A token and the bytes of the word that it covers.
    struct Token {
        int id;
        uint32_t begin, end;
    };
    /// What happens to a character that is not in the vocabulary.
    enum class Unknown { Dropped, Token, Refused };
    struct Options {
        std::optional<std::string> unknownToken{};
        Unknown unknown = Unknown::Dropped;
        std::string continuingPrefix{}; ///< precedes every character except a word's first
        std::string endSuffix{};        ///< follows a word's last character
        bool fuseUnknown = false;       ///< neighbouring unknown characters become one token
        bool byteFallback = false;      ///< an unknown character becomes its bytes, "<0xE4>"
        bool ignoreMerges = false;      ///< a word in the vocabulary is one token, regardless of the merges
    };

    /// Reads a BPE model. @param node tokenizer.json's "model"
    /// @throws Error naming file and field if it is damaged or of another kind
    static Bpe parse(const JsonNode& node);
    Bpe(StringMap<int> vocabulary, Options options);

    /// Appends the tokens of one word, in O(n log n) of its length. Words are cached; safe to call from several
    /// threads.
    /// @throws Error for an unknown character if Options::unknown is Refused
    void encode(std::string_view word, std::vector<Token>& tokens) const;

    const StringMap<int>& vocabulary() const { return vocabulary_; }
    std::optional<int> idOf(std::string_view token) const;
    const Options& options() const { return options_; }
    size_t mergeCount() const { return merges_.size(); }

private:
    struct Merge {
        uint32_t rank;
        int id;
    };
    struct Symbol;
    struct Cache {
        std::mutex mutex;
        StringMap<std::vector<Token>> words;
    };

    void parseMerges(const JsonNode& node);
    std::vector<Symbol> symbolsOf(std::string_view word) const;
    bool addBytes(std::string_view character, size_t begin, size_t end, std::vector<Symbol>& symbols) const;
    const Merge* mergeOf(int left, int right) const;
    void mergeAll(std::vector<Symbol>& symbols) const;

    StringMap<int> vocabulary_;
    Options options_;
    std::vector<std::optional<int>> byteIds_; ///< of "<0x00>" to "<0xFF>"
    std::optional<int> unknownId_;
    std::unordered_map<uint64_t, Merge> merges_; ///< by left id << 32 | right id
    std::unique_ptr<Cache> cache_ = std::make_unique<Cache>();
};

} // namespace attn
