#include "engine/inference/token_limits.h"

#include "engine/core/error.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

namespace attn {

template <class Number> void TokenLimits::apply(std::span<Number> scores) const {
    constexpr Number kNever = -std::numeric_limits<Number>::infinity();
    const auto set = [&](int token, Number score) {
        if (token >= 0 && static_cast<size_t>(token) < scores.size()) scores[static_cast<size_t>(token)] = score;
    };
    if (only.empty()) {
        for (const int token : barred) set(token, kNever);
        return;
    }
    std::ranges::fill(scores, kNever);
    for (const int token : only) set(token, Number{0});
}
template void TokenLimits::apply(std::span<float>) const;
template void TokenLimits::apply(std::span<double>) const;

TokenLimits tokenLimits(const GenerationRules& rules, std::span<const int> tokens, size_t given, size_t most) {
    TokenLimits limits;
    if (!rules.lastTokens.empty() && tokens.size() + 1 == most) {
        limits.only = rules.lastTokens;
        limits.fields = {"forced_eos_token_id"};
        return limits;
    }
    if (rules.firstToken && tokens.size() == 1) {
        limits.only = {*rules.firstToken};
        limits.fields = {"forced_bos_token_id"};
        return limits;
    }
    std::map<int, std::string_view> barred; // the first reason counts
    const auto bar = [&](const std::vector<int>& more, std::string_view field) {
        for (const int token : more) barred.try_emplace(token, field);
    };
    for (const std::vector<int>& words : rules.barred) {
        const auto before = std::span(words).first(words.size() - 1);
        if (words.size() <= tokens.size() + 1 && before.size() <= tokens.size() &&
            std::ranges::equal(before, tokens.last(before.size())))
            bar({words.back()}, "bad_words_ids");
    }
    if (const auto size = static_cast<size_t>(rules.repeatFree); size > 0 && tokens.size() + 1 >= size) {
        const auto last = tokens.last(size - 1);
        for (size_t at = 0; at + size <= tokens.size(); ++at)
            if (std::ranges::equal(tokens.subspan(at, size - 1), last))
                bar({tokens[at + size - 1]}, "no_repeat_ngram_size");
    }
    if (tokens.size() < static_cast<size_t>(rules.minLength)) bar(rules.stopTokens, "min_length");
    if (tokens.size() - std::min(given, tokens.size()) < static_cast<size_t>(rules.minNewTokens))
        bar(rules.stopTokens, "min_new_tokens");
    bar(rules.suppressed, "suppress_tokens");
    const bool isForced = given == 1 && rules.firstToken.has_value(); // what follows the forced token is the first
    if (tokens.size() == given + (isForced ? 1 : 0)) bar(rules.suppressedFirst, "begin_suppress_tokens");
    for (const auto& [token, field] : barred) {
        limits.barred.push_back(token);
        limits.fields.push_back(field);
    }
    return limits;
}

void refuseAllBarred() {
    throw Error({.what = "the rules of the model's folder bar every token",
                 .where = "sampling",
                 .hint = "look at bad_words_ids and suppress_tokens in generation_config.json"});
}

size_t mostTokens(const GenerationRules& rules, size_t given, size_t capacity) {
    size_t most = capacity;
    if (rules.maxNewTokens)
        most = given + static_cast<size_t>(*rules.maxNewTokens);
    else if (rules.maxLength)
        most = static_cast<size_t>(*rules.maxLength);
    return std::min(most, capacity);
}

} // namespace attn
