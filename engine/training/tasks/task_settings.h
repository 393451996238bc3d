#pragma once

#include "engine/core/stop_point.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace attn {

/// TaskSettings::tokens of a text that is cut into the tokens of the model from which training starts.
inline constexpr const char* kModelTokens = "model";

/// The settings of a task. Missing values keep their defaults.
struct TaskSettings {
    std::map<std::string, double, std::less<>> values{}; ///< by Param::id
    uint64_t seed = 0;                                   ///< selects the examples; does not change splits
    std::filesystem::path text{};                        ///< file, for tasks that read a text
    std::filesystem::path translation{}; ///< of the text, line by line; empty: the text holds both languages
    std::string languages = "en-de";     ///< from and to, for tasks between languages: codes as in BCP 47
    std::string tokens = "chars";        ///< for these tasks: "chars", "bytes", "bpe:N" with N merges, or kModelTokens
    std::string modelTokenizer{};        ///< for kModelTokens: the tokenizer.json of the model
    std::filesystem::path data{};        ///< folder, for tasks that read pictures
    StopPoint stopPoint{};               ///< of the work on the text
    bool operator==(const TaskSettings&) const = default;
};

} // namespace attn
