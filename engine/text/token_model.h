#pragma once

#include <array>
#include <cstdint>
#include <memory>
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

/// A vocabulary, and how it cuts a word into tokens: tokenizer.json's "model".
class TokenModel {
public:
    /// The most tokens of a vocabulary: eight times the largest known.
    static constexpr size_t kMostTokens = size_t{1} << 21;
    /// A token and the bytes of the word that it covers.
    struct Token {
        int id;
        uint32_t begin, end;
    };

    virtual ~TokenModel() = default;
    /// Reads a model. @param node tokenizer.json's "model"
    /// @throws Error naming file and field if it is damaged or of a kind that is not supported
    static std::unique_ptr<const TokenModel> parse(const JsonNode& node);

    /// Appends the tokens of one word. Safe to call from several threads.
    /// @throws Error for a word or character that has no token and no unknown token in its place
    virtual void encode(std::string_view word, std::vector<Token>& tokens) const = 0;
    virtual std::string kind() const = 0;              ///< "byte-level BPE"
    virtual std::string details() const { return {}; } ///< ", 165 merges"
    /// The text before tokens that belong to the word of the token before them: "##". Empty: no such tokens.
    virtual std::string continuingPrefix() const { return {}; }
    /// The token in place of characters or words that the vocabulary lacks.
    virtual std::optional<int> unknownId() const = 0;
    const StringMap<int>& vocabulary() const { return vocabulary_; }
    std::optional<int> idOf(std::string_view token) const;

protected:
    explicit TokenModel(StringMap<int> vocabulary);
    /// The token that stands for a byte of an unknown character: "<0xE4>".
    std::optional<int> idOfByte(char byte) const { return byteIds_[static_cast<unsigned char>(byte)]; }
    /// The "vocab" of a model. @throws Error as parse()
    static StringMap<int> parseVocabulary(const JsonNode& node);
    /// The id of the unknown token, in place of `text`. @throws Error if the vocabulary lacks it
    static int requireUnknown(std::optional<int> id, const std::string& token, std::string_view text);

private:
    StringMap<int> vocabulary_;
    std::array<std::optional<int>, 256> byteIds_;
};

} // namespace attn
