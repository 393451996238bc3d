#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The contents of a model file of SentencePiece: spiece.model, sentencepiece.bpe.model, source.spm.
/// @source SentencePiece, sentencepiece_model.proto
struct SentencePieceFile {
    enum class Kind { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };
    struct Piece {
        std::string text{};
        float score = 0;
        Kind kind = Kind::Normal;
    };
    std::vector<Piece> pieces{};
    bool mergesPairs = false; ///< byte-pair encoding, in the order of the scores; else a unigram model
    bool byteFallback = false;
    std::string charsmap{}; ///< compiled rules of normalization
    bool addsPrefix = true, removesSpaces = true, marksSpaces = true;
    bool prefixesOnlyFirst = false; ///< not a part behind a special token. The file does not say it

    /// Reads the bytes of a file of the kind Unigram or BPE. @param file its name, for errors
    /// @throws Error naming the file if it is damaged or of another kind
    static SentencePieceFile read(std::string_view bytes, const std::string& file);
};

} // namespace attn
