#pragma once

#include "engine/models/decoder.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// What a folder holds besides the weights.
struct FolderText {
    std::string tokenizerJson;
    std::optional<int> endToken; ///< ends generation
    std::string examplePrompt{}; ///< shown when the folder is opened; empty: none of its own
};

/// Writes a Hugging Face folder: config.json, model.safetensors (float32, the family's tensor names) and
/// tokenizer.json. Biases that the family's format has and the model lacks are written as zeros.
/// @param read dense values of one of the engine's parameters
/// @throws Error naming the file and why, or the family if it is only read
void writeModelFolder(const std::filesystem::path& folder, const DecoderConfig& config, const FolderText& text,
                      const std::function<std::vector<float>(const std::string& parameter)>& read);

} // namespace attn
