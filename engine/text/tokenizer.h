#pragma once

#include "engine/text/encoding.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Text to token ids and back: Hugging Face's tokenizer.json with a BPE model, byte-level or SentencePiece-style, or an
/// alphabet of characters. Ids equal those of Hugging Face's tokenizers 0.23; truncation and padding in the file are
/// left to the caller. Safe to use from several threads.
class Tokenizer {
public:
    /// @param path a tokenizer.json
    /// @throws Error naming the file, the thing and the remedy
    static Tokenizer load(const std::filesystem::path& path);
    /// @param name stands for the file in errors
    static Tokenizer fromJson(std::string_view json, const std::string& name = "tokenizer.json");
    /// One token per character, numbered as listed.
    /// @param unknown the entry that stands for any character that is not listed; without it such a character is an
    /// Error
    static Tokenizer characters(const std::vector<std::string>& alphabet,
                                const std::optional<std::string>& unknown = std::nullopt);

    ~Tokenizer();
    Tokenizer(Tokenizer&&) noexcept;
    Tokenizer& operator=(Tokenizer&&) noexcept;

    /// @throws Error if the text is not UTF-8 (with the byte's offset) or has a character that the tokenizer cannot
    /// write
    Encoding encode(std::string_view text, bool addSpecialTokens = true) const;
    /// Bytes that form no character become U+FFFD; ids without a token are left out.
    std::string decode(std::span<const int> ids, bool skipSpecialTokens) const;

    /// What a token stands for, for display: " park"; bytes that are no whole character as "<0xE4>"; "#7" without a
    /// token.
    std::string tokenText(int id) const;
    /// The token as the file writes it, e.g. "▁park".
    std::optional<std::string> token(int id) const;
    std::optional<int> idOf(std::string_view token) const;

    int vocabularySize() const; ///< one more than the largest id
    bool isSpecial(int id) const;
    std::optional<int>
    beginId() const; ///< beginning of text: what the template puts first, else the special token so named
    std::optional<int> endId() const; ///< end of text, likewise
    /// E.g. "SentencePiece-style BPE with byte fallback, 512 tokens, 165 merges".
    std::string summary() const;

private:
    friend class StreamDecoder;
    struct Parts;
    explicit Tokenizer(std::unique_ptr<const Parts> parts);
    std::unique_ptr<const Parts> parts_;
};

/// Decodes tokens as they are generated. Only complete characters come out: one that is cut into several tokens appears
/// with its last. The pieces add up to Tokenizer::decode of all tokens, except that where byte tokens form no
/// character, this replaces the bytes that are wrong, and decode (as Hugging Face's library) all byte tokens in a row.
class StreamDecoder {
public:
    /// @param tokenizer outlives this
    StreamDecoder(const Tokenizer& tokenizer, bool skipSpecialTokens);
    ~StreamDecoder();
    StreamDecoder(StreamDecoder&&) noexcept;
    StreamDecoder& operator=(StreamDecoder&&) noexcept;

    /// @return the text that this token completes, often all of its own, empty inside a character
    std::string push(int id);
    /// The rest, with U+FFFD for a character that was never completed; then begins anew.
    std::string finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace attn
