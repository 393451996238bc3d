#pragma once

#include "engine/text/prefix_trie.h"
#include "engine/text/sentence_piece_file.h"
#include "engine/text/token_model.h"

#include <mutex>

namespace attn {

/// Byte-pair encoding: starts from characters and merges neighbours, always the leftmost pair of the lowest rank.
/// @source Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units", arXiv:1508.07909,
/// section 3.2
class Bpe : public TokenModel {
public:
    /// The treatment of a character that is not in the vocabulary.
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
    /// SentencePiece's: of two pairs, the one whose whole has the higher score is merged first, and pieces that a
    /// person defined stay whole. @param ids of the pieces
    /// @throws Error without a place if a piece is too long
    static Bpe ofPieces(const SentencePieceFile& model, StringMap<int> ids, int unknownId);

    /// Appends the tokens of one word, in O(n log n) of its length. Words are cached; safe to call from several
    /// threads.
    /// @throws Error for an unknown character if Options::unknown is Refused
    void encode(std::string_view word, std::vector<Token>& tokens) const override;
    std::string kind() const override;
    std::optional<int> unknownId() const override { return unknownId_; }
    std::string details() const override;

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
    const Merge* mergeOf(const Symbol& left, const Symbol& right) const;
    void mergeAll(std::vector<Symbol>& symbols) const;

    Options options_;
    std::optional<int> unknownId_;
    PrefixTrie whole_;                           ///< of ids of tokens that never merge
    std::unordered_map<uint64_t, Merge> merges_; ///< by left id << 32 | right id
    std::unique_ptr<Cache> cache_ = std::make_unique<Cache>();
};

} // namespace attn
