#pragma once

#include "engine/models/decoder.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace attn {

/// Writes a Hugging Face folder: config.json, model.safetensors (float32, the family's tensor names) and
/// tokenizer.json. Biases that the family's format has and the model lacks are written as zeros.
/// @param endToken id that ends generation, negative if there is none
/// @param read     dense values of one of the engine's parameters
/// @throws Error naming the file and why, or the family if it is only read
void writeModelFolder(const std::filesystem::path& folder, const DecoderConfig& config,
                      const std::string& tokenizerJson, int endToken,
                      const std::function<std::vector<float>(const std::string& parameter)>& read);

} // namespace attn
