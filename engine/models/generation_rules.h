#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// Whether a field of a settings file is a rule of writing or a note beside one: GenerationRules::read() obeys it or
/// names it where it counts, and it changes no number of a run.
bool isGenerationField(std::string_view field);

/// The rules by which a folder's model writes: generation_config.json, or config.json where that file is missing.
/// @source transformers 4, generation/configuration_utils.py
struct GenerationRules {
    /// How tokens are chosen unless a person decides otherwise.
    struct Choice {
        bool greedy = true;
        float temperature = 1;
        int topK = 50; ///< 0: all tokens
        float topP = 1, minP = 0, repetitionPenalty = 1;
        int beams = 1;
        double lengthPenalty = 1; ///< of beam search
        bool stopsEarly = false;  ///< beam search ends as soon as it has as many texts as beams
        bool operator==(const Choice&) const = default;
        std::string text() const; ///< "temperature 0.6, top-p 0.9"
    };

    std::vector<int> stopTokens{};                    ///< tokens that end a text
    std::optional<int> startToken{};                  ///< before what a decoder writes; none: as the config says
    std::optional<int> firstToken{};                  ///< must follow a text of one token
    std::vector<int> lastTokens{};                    ///< one of these must end a text of the greatest length
    std::vector<std::vector<int>> barred{};           ///< sequences that may not be written
    std::vector<int> suppressed{}, suppressedFirst{}; ///< tokens that may not be written, or not at first
    int minLength = 0, minNewTokens = 0; ///< tokens before a text may end: all of them, or those that were written
    int repeatFree = 0;                  ///< no sequence of so many tokens occurs twice; 0: any may
    bool renormalizes = false;           ///< a beam search counts p among the tokens that the other rules leave
    std::optional<int> maxLength{}, maxNewTokens{};
    std::optional<Choice> choice{};
    std::string file{};                  ///< "generation_config.json"
    std::vector<std::string> warnings{}; ///< fields that are not obeyed

    /// How the folder chooses tokens, and its limits on them by their fields: "temperature 0.6, suppress_tokens (2)".
    /// Empty: it says nothing of either.
    std::string text() const;
    /// Reads the rules of a folder. @param config config.json  @param vocabulary ids from here on are no tokens
    static GenerationRules read(const std::filesystem::path& folder, const nlohmann::json& config, int64_t vocabulary);
};

} // namespace attn
