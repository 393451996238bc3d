#pragma once

#include <optional>
#include <string_view>

namespace attn {

/// The tokens that a configuration class of transformers has where config.json does not have the field, not even as
/// null. What is no token of the vocabulary does not count.
struct ClassTokens {
    std::optional<int> begin{};   ///< bos_token_id
    std::optional<int> end{};     ///< eos_token_id
    std::optional<int> padding{}; ///< pad_token_id
    std::optional<int> start{};   ///< decoder_start_token_id
    std::optional<int> lastEnd{}; ///< forced_eos_token_id
};

/// Those of a model_type; of an unknown one, none.
/// @source transformers 4 and 5, models/*/configuration_*.py
ClassTokens classTokensOf(std::string_view modelType);

} // namespace attn
