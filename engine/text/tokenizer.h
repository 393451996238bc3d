#pragma once

#include "engine/text/encoding.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

struct TokenizerParts;
struct TranslationTokenizers;

/// Converts text to token ids and back. Reads Hugging Face's tokenizer.json with a BPE model, byte-level or
/// SentencePiece-style, a WordPiece, a WordLevel or a Unigram model, reads SentencePiece's own files, or uses an
/// alphabet of characters. Ids equal those of Hugging Face's tokenizers 0.23, or those of SentencePiece for its files;
/// truncation and padding in the file are ignored. Safe to use from several threads.
class Tokenizer {
public:
    /// Reads a tokenizer.json file. @throws Error naming the file, the field and the remedy
    static Tokenizer load(const std::filesystem::path& path);
    /// Reads the text of a tokenizer.json. @param name of the file, for errors
    /// @throws Error naming the field and the remedy
    static Tokenizer fromJson(std::string_view json, const std::string& name = "tokenizer.json");
    /// Reads the tokenizer of a model folder: tokenizer.json, BERT's vocab.txt, GPT-2's vocab.json with merges.txt, or
    /// a model file of SentencePiece, of the kind that tokenizer_config.json or config.json names. What
    /// tokenizer_config.json, special_tokens_map.json and added_tokens.json say of it counts as in transformers.
    /// @return none if the folder has none of them  @throws Error as load()
    static std::optional<Tokenizer> ofFolder(const std::filesystem::path& folder);
    /// Reads the tokenizers of a Marian model's folder: source.spm and target.spm with vocab.json.
    /// @return none if the folder lacks one of them  @throws Error as load()
    static std::optional<TranslationTokenizers> ofTranslationFolder(const std::filesystem::path& folder);
    /// Makes a tokenizer with one token per character; ids follow the order of the list.
    /// @param unknown the entry for every character that is not listed; without it, encode throws for such a character
    /// @throws Error if an entry is listed twice or is not one character, or if `unknown` is not listed
    static Tokenizer characters(const std::vector<std::string>& alphabet,
                                const std::optional<std::string>& unknown = std::nullopt);

    ~Tokenizer();
    Tokenizer(Tokenizer&&) noexcept;
    Tokenizer& operator=(Tokenizer&&) noexcept;

    /// Converts a text to tokens, as the reference does: what has no token becomes the unknown token, or is left out
    /// where the file names none. Encoding::missing tells.
    /// @throws Error if the text is not UTF-8 (with the byte's offset), or if a character has no token and the kind of
    /// tokenizer refuses such characters
    Encoding encode(std::string_view text, bool addSpecialTokens = true) const;
    /// Converts a pair of texts, with the tokens and the token types that the file gives a pair. @throws Error as
    /// encode
    Encoding encodePair(std::string_view first, std::string_view second, bool addSpecialTokens = true) const;
    /// encode() of what a person gives a model to read, who must hear of noteOn().
    /// @throws Error as encode(), or naming what has no token if nothing else is left of the text
    Encoding read(std::string_view text, bool addSpecialTokens = true) const;
    /// read() for callers that cannot show a note: no character may be left out. @throws Error as encode(), or naming
    /// what has no token if no unknown token can stand in its place
    Encoding readWhole(std::string_view text) const;
    /// encodePair() of a pair that a person gives. @throws Error as read()
    Encoding readPair(std::string_view first, std::string_view second) const;
    /// A note for the person on a text that was read: characters that became the unknown token, or that are left out.
    /// Empty: none.
    std::string noteOn(const Encoding& encoding) const;
    /// Converts tokens to text. Bytes that form no character become U+FFFD; ids without a token are skipped.
    std::string decode(std::span<const int> ids, bool skipSpecialTokens) const;

    /// The text of a token for display: " park". Bytes that are not a whole character become "<0xE4>"; an id without a
    /// token becomes "#7".
    std::string tokenText(int id) const;
    /// The token as the file writes it, such as "▁park"; none if the id has no token.
    std::optional<std::string> token(int id) const;
    std::optional<int> idOf(std::string_view token) const;
    /// A token for messages, with its text and the file in which it stands: `token 70 ("ab" in tokenizer.json)`; of an
    /// id without a token, or without a tokenizer, "token 70".
    static std::string titleOf(const Tokenizer* tokenizer, int id);
    /// A clause that names the first token for which a model has no row in its table; empty: it has one for each.
    std::string whatExceeds(int64_t rows) const;

    int vocabularySize() const; ///< one more than the largest id
    bool isSpecial(int id) const;
    bool continuesWord(int id) const; ///< as "##ing" continues the word of the token before it
    /// The token for the beginning of text: the template's first token, else the special token with such a name.
    std::optional<int> beginId() const;
    /// The token for the end of text: the template's last token, else the special token with such a name.
    std::optional<int> endId() const;
    /// The token that stands for a hidden word, which a model of masked tokens fills in.
    std::optional<int> maskId() const;
    /// The token in place of characters that the vocabulary lacks; none: it has no such token.
    std::optional<int> unknownId() const;
    /// Whether an encoded text begins with the token that the template puts before it, so that it stands there
    /// twice.
    bool beginsTwice(std::span<const int> ids) const;
    /// The settings of the files that this tokenizer does not obey.
    const std::vector<std::string>& warnings() const;
    /// A description such as "SentencePiece-style BPE with byte fallback, 512 tokens, 165 merges".
    std::string summary() const;

private:
    friend class StreamDecoder;
    struct Parts;
    Encoding encode(std::span<const std::string_view> texts, bool addSpecialTokens) const;
    /// @throws Error if the text, or a part of it, has left no token
    Encoding given(Encoding encoding, bool isWhole) const;
    explicit Tokenizer(std::unique_ptr<const Parts> parts);
    explicit Tokenizer(TokenizerParts read);
    std::unique_ptr<const Parts> parts_;
};

/// The tokenizers of a model that translates: of what it reads, and of what it writes.
struct TranslationTokenizers {
    Tokenizer source, target;
};

/// Decodes tokens as they are generated. Only complete characters come out: a character of several tokens appears with
/// the last of them. The pieces add up to Tokenizer::decode of all tokens, with one exception: where byte tokens form
/// no character, this class replaces only the wrong bytes, while decode, like Hugging Face's library, replaces all byte
/// tokens in a row.
class StreamDecoder {
public:
    /// Whether spaces before punctuation go where Tokenizer::decode removes them. They come out with the next word
    /// then.
    enum class Spaces { AsDecoded, AsWritten };
    /// @param tokenizer must outlive this object
    StreamDecoder(const Tokenizer& tokenizer, bool skipSpecialTokens, Spaces spaces = Spaces::AsDecoded);
    ~StreamDecoder();
    StreamDecoder(StreamDecoder&&) noexcept;
    StreamDecoder& operator=(StreamDecoder&&) noexcept;

    /// Adds a token. @return the text that it completes; empty in the middle of a character
    std::string push(int id);
    /// The text that follows if no token comes after these: U+FFFD for an incomplete character.
    std::string rest() const;
    /// Returns rest(), and resets the decoder.
    std::string finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// A folder's tokenizer.json with what the small files beside it change: alone, it makes the same tokens of a text as
/// Tokenizer::ofFolder() does. It is the file's own text if they change nothing.
/// @throws Error naming a file that is missing or cannot be read
std::string wholeTokenizerJson(const std::filesystem::path& folder);

} // namespace attn
