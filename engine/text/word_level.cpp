#include "engine/text/word_level.h"

#include "engine/text/json_node.h"

namespace attn {

WordLevel WordLevel::parse(const JsonNode& node) { return {parseVocabulary(node), node.text("unk_token", "<unk>")}; }

WordLevel::WordLevel(StringMap<int> vocabulary, std::string unknownToken)
    : TokenModel(std::move(vocabulary)), unknownToken_(std::move(unknownToken)), unknownId_(idOf(unknownToken_)) {}

void WordLevel::encode(std::string_view word, std::vector<Token>& tokens) const {
    const auto known = idOf(word);
    tokens.push_back(
        {known ? *known : requireUnknown(unknownId_, unknownToken_, word), 0, static_cast<uint32_t>(word.size())});
}

} // namespace attn
