#pragma once

#include "engine/io/tensor_writer.h"
#include "engine/session/language_model.h"

#include <string>
#include <vector>

namespace attn {

/// Whose hooks a file holds.
struct CaptureOrigin {
    std::string model, family;
};
/// Writes captured hooks after what the model was given, as .safetensors or .npz by the path's ending.
/// @throws Error for another ending, or when the file cannot be written
void writeCapture(const std::string& path, const CaptureOrigin& origin, std::vector<WrittenTensor> inputs,
                  const std::vector<CapturedHook>& hooks);
/// The same of a language model: its input is "tokens".
void writeCapture(const std::string& path, const ModelInfo& model, std::span<const int> tokens,
                  const std::vector<LanguageModel::Captured>& hooks);

/// "1, 2,3" as ids. @throws Error that names the part which is no number
std::vector<int> parseTokenIds(const std::string& text);

} // namespace attn
