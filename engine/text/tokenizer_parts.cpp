#include "engine/text/tokenizer_parts.h"

#include "engine/text/json_node.h"

#include <algorithm>

namespace attn {

TokenizerParts TokenizerParts::parse(const nlohmann::json& document, const std::string& name) {
    const JsonNode root(document, name);
    const auto normalizer = root.find("normalizer"), preTokenizer = root.find("pre_tokenizer"),
               decoder = root.find("decoder"), added = root.find("added_tokens"),
               specials = root.find("post_processor");
    TokenizerParts parts{.normalizer = normalizer ? Normalizer::parse(*normalizer) : Normalizer(),
                         .preTokenizer = preTokenizer ? PreTokenizer::parse(*preTokenizer) : PreTokenizer(),
                         .model = TokenModel::parse(root.at("model")),
                         .specials = specials ? SpecialTemplate::parse(*specials) : SpecialTemplate(),
                         .decoder = decoder ? TokenDecoder::parse(*decoder) : TokenDecoder(" ")};
    if (added) parts.added = AddedTokens::parse(*added, *parts.model, parts.normalizer);
    return parts;
}

std::optional<int> TokenizerParts::idOf(std::string_view token) const {
    for (const AddedTokens::Token& each : added.tokens())
        if (each.content == token) return each.id;
    return model->idOf(token);
}

int TokenizerParts::nextId() const {
    int next = 0;
    for (const auto& [text, id] : model->vocabulary()) next = std::max(next, id + 1);
    for (const AddedTokens::Token& each : added.tokens()) next = std::max(next, each.id + 1);
    return next;
}

} // namespace attn
