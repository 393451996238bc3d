#pragma once

#include "engine/session/language_model.h"

#include <string>
#include <vector>

namespace attn {

/// Writes captured hooks and the tokens as .safetensors or .npz, by the path's ending.
/// @throws Error for another ending, or when the file cannot be written
void writeCapture(const std::string& path, const ModelInfo& model, std::span<const int> tokens,
                  const std::vector<LanguageModel::Captured>& hooks);

/// "1, 2,3" as ids. @throws Error that names the part which is no number
std::vector<int> parseTokenIds(const std::string& text);

} // namespace attn
