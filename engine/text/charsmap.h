#pragma once

#include "engine/text/aligned_text.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// SentencePiece's compiled rules of normalization: they replace characters and short sequences of them by other texts.
/// They are a double array of bytes and the texts that it points to.
/// @source SentencePiece, normalizer.cc; Yata, Darts-clone
class Charsmap {
public:
    struct Match {
        std::string_view text; ///< replaces the sequence
        size_t length;         ///< of the sequence, in bytes
    };

    /// Changes nothing.
    Charsmap() = default;
    /// @param compiled the bytes of "precompiled_charsmap"; empty: changes nothing
    /// @throws Error without a place if they are damaged
    explicit Charsmap(std::string_view compiled);
    /// Reads tokenizer.json's "precompiled_charsmap". @throws Error without a place if it is damaged
    static Charsmap fromBase64(std::string_view letters);

    /// The longest sequence at the beginning of a text, which SentencePiece changes.
    std::optional<Match> longest(std::string_view text) const { return find(text, true); }
    /// Changes a text as tokenizer.json's "Precompiled" does: each cluster of a letter and its marks that has less than
    /// six bytes becomes what its shortest known beginning becomes; in other clusters, each character by itself.
    AlignedText applyToClusters(const AlignedText& text, TextBudget& budget) const;

private:
    std::optional<Match> find(std::string_view text, bool isLongest) const;
    std::string_view textAt(size_t place) const;

    std::vector<uint32_t> units_;
    std::string texts_; ///< each ends with a zero
};

} // namespace attn
