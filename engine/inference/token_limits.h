#pragma once

#include "engine/models/generation_rules.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

namespace attn {

/// The tokens that may come next by the rules of a model's folder.
struct TokenLimits {
    std::vector<int> only{};   ///< one of these must come, whatever the logits say; empty: any may
    std::vector<int> barred{}; ///< these may not
    /// The fields of the folder's file that say so: one for `only`, otherwise one for each of `barred`.
    std::vector<std::string_view> fields{};
    bool operator==(const TokenLimits&) const = default;

    bool empty() const { return only.empty() && barred.empty(); }
    bool allows(int token) const {
        return only.empty() ? std::ranges::count(barred, token) == 0 : std::ranges::count(only, token) > 0;
    }
    /// The field that bars a token; empty: none does, or it is not known.
    std::string_view fieldAgainst(int token) const {
        const size_t at = only.empty() ? static_cast<size_t>(std::ranges::find(barred, token) - barred.begin()) : 0;
        return allows(token) || at >= fields.size() ? std::string_view() : fields[at];
    }
    /// Applies them to scores, one for each token: a barred one becomes minus infinity, one that must come 0.
    template <class Number> void apply(std::span<Number> scores) const;
};

/// The limits of the token behind a text.
/// @param tokens all of the text, the given ones too  @param given how many of them were not written by the model
/// @param most tokens of the text when it is full
/// @source transformers 4, generation/logits_process.py
TokenLimits tokenLimits(const GenerationRules& rules, std::span<const int> tokens, size_t given, size_t most);

/// @throws Error that says that the rules of a folder bar every token
[[noreturn]] void refuseAllBarred();

/// The most tokens of a text by the rules. @param given as above  @param capacity of the model
size_t mostTokens(const GenerationRules& rules, size_t given, size_t capacity);

} // namespace attn
