#pragma once

#include "engine/data/data_settings.h"
#include "engine/data/text_corpus.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace attn {

/// Instead of a file: stories of the task `stories`, which need no text.
inline constexpr std::string_view kBuiltinStories = "builtin:stories";

/// Reads DataSettings::text, a file or kBuiltinStories.
/// @param file what to choose if there is none: "choose a UTF-8 text file"  @throws Error naming the file
std::string readTaskBytes(std::string_view task, const DataSettings& settings, std::string_view file);
/// Reads a task's text, which must be UTF-8. @throws Error naming the first line that is not
std::string readTaskText(std::string_view task, const DataSettings& settings, std::string_view file);

/// The tokenizer.json of a text: that of the model from which training starts, if the settings say so, else word pieces
/// as BERT has them, learned from the text.
/// @param vocabulary largest number of tokens
std::string wordPieceTokenizer(const DataSettings& settings, std::string_view text, int vocabulary);

/// Reads a text for a model that fills in hidden tokens: the last tenth of its lines is for validation. The vocabulary,
/// unless it is that of a model, is learned from the others. @throws Error naming the file or the setting
TextCorpus readWordPieces(std::string_view task, const DataSettings& settings, int vocabulary);

/// Calls a function with each line of a text, without its end.
template <class Take> void forEachLine(std::string_view text, const Take& take) {
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        take(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

} // namespace attn
