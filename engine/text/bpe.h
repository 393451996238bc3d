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

/// Hashes a string and a view of it alike, so that a map of strings is searched without copies.
struct StringHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <class Value> using StringMap = std::unordered_map<std::string, Value, StringHash, std::equal_to<>>;

/// Byte-pair encoding: starts from characters and merges neighbours, the pair with the lowest rank first, leftmost
/// first.
/// @source Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units", arXiv:1508.07909,
/// section 3.2
class Bpe {
public:
    /// A token and the bytes of the word that it covers.
    struct Token {
        int id;
        uint32_t begin, end;
    };
    /// What becomes of a character that is not in the vocabulary.
    enum class Unknown { Dropped, Token, Refused };
    struct Options {
        std::optional<std::string> unknownToken{};
        Unknown unknown = Unknown::Dropped;
        std::string continuingPrefix{}; ///< stands before every character but a word's first
        std::string endSuffix{};        ///< stands behind a word's last character
        bool fuseUnknown = false;       ///< neighbouring unknown characters become one token
        bool byteFallback = false;      ///< an unknown character becomes its bytes, "<0xE4>"
        bool ignoreMerges = false;      ///< a word that is in the vocabulary is one token, whatever the merges say
    };

    /// @param node tokenizer.json's "model"
    /// @throws Error naming file and field when it is damaged or of another kind
    static Bpe parse(const JsonNode& node);
    Bpe(StringMap<int> vocabulary, Options options);

    /// Appends the tokens of one word; O(n log n) in its length. Words are remembered; safe to call from several
    /// threads.
    /// @throws Error for an unknown character that is refused
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
