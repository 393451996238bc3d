#pragma once

#include "engine/core/stop_point.h"
#include "engine/io/image_preprocessing.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// DataSettings::tokens of a text that is cut into the tokens of the model from which training starts.
inline constexpr const char* kModelTokens = "model";

/// The files of a person's from which a model learns or is examined, and how they are read. Missing values keep their
/// defaults.
struct DataSettings {
    std::filesystem::path text{};        ///< file
    std::filesystem::path translation{}; ///< of the text, line by line; empty: the text holds both languages
    std::string languages = "en-de";     ///< from and to: codes as in BCP 47
    std::string tokens = "chars";        ///< "chars", "bytes", "bpe:N" with N merges, or kModelTokens
    std::string modelTokenizer{};        ///< for kModelTokens: the tokenizer.json of the model
    std::filesystem::path pictures{};    ///< folder
    std::optional<ImagePreprocessing> modelPictures{}; ///< how the model from which training starts prepares pictures
    std::vector<std::string> modelLabels{}; ///< of that model, if it answers in the way that the task teaches
    StopPoint stopPoint{};                  ///< of the work on the text
    bool operator==(const DataSettings&) const = default;
};

/// Throws an error about a setting that does not fit the others. @param user what reads the data, such as a task
[[noreturn]] void failParameter(std::string_view user, std::string_view parameter, std::string what, std::string hint);

} // namespace attn
