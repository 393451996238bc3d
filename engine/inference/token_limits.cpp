#include "engine/inference/token_limits.h"

#include <algorithm>
#include <limits>
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
        return limits;
    }
    if (rules.firstToken && tokens.size() == 1) {
        limits.only = {*rules.firstToken};
        return limits;
    }
    std::vector<int>& barred = limits.barred;
    const auto bar = [&](const std::vector<int>& more) { barred.insert(barred.end(), more.begin(), more.end()); };
    for (const std::vector<int>& words : rules.barred) {
        const auto before = std::span(words).first(words.size() - 1);
        if (words.size() <= tokens.size() + 1 && before.size() <= tokens.size() &&
            std::ranges::equal(before, tokens.last(before.size())))
            barred.push_back(words.back());
    }
    if (const auto size = static_cast<size_t>(rules.repeatFree); size > 0 && tokens.size() + 1 >= size) {
        const auto last = tokens.last(size - 1);
        for (size_t at = 0; at + size <= tokens.size(); ++at)
            if (std::ranges::equal(tokens.subspan(at, size - 1), last)) barred.push_back(tokens[at + size - 1]);
    }
    if (tokens.size() < static_cast<size_t>(rules.minLength) ||
        tokens.size() - std::min(given, tokens.size()) < static_cast<size_t>(rules.minNewTokens))
        bar(rules.stopTokens);
    bar(rules.suppressed);
    const bool isForced = given == 1 && rules.firstToken.has_value(); // what follows the forced token is the first
    if (tokens.size() == given + (isForced ? 1 : 0)) bar(rules.suppressedFirst);
    std::ranges::sort(barred);
    barred.erase(std::unique(barred.begin(), barred.end()), barred.end());
    return limits;
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
