#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

class TokenizerFiles;

/// The changes that BERT's tokenizers make to a text besides cutting it into word pieces.
struct BertOptions {
    bool lowercases = true;
    std::optional<bool> stripsAccents{}; ///< none: as `lowercases`
    bool separatesIdeographs = true;
    // The tokens with a meaning of their own.
    std::string unknown = "[UNK]", separator = "[SEP]", padding = "[PAD]", first = "[CLS]", mask = "[MASK]";
};

/// The tokenizer.json of a BERT model. A text gets its first token and a separator, a pair a second separator and the
/// token types 0 and 1.
/// @param tokens by id; of two equal ones, the last is used
std::string bertTokenizerJson(const std::vector<std::string>& tokens, const BertOptions& options);

/// The tokenizer.json that the vocab.txt of an older folder means with the small files beside it.
/// @param vocabulary one token a line  @throws Error naming a field that is unusable
std::string bertTokenizerJson(std::string_view vocabulary, const TokenizerFiles& files);

} // namespace attn
