#pragma once

#include "engine/inference/language_model.h"
#include "engine/io/tensor_writer.h"

#include <string>
#include <vector>

namespace attn {

/// The model whose hooks a file contains.
struct CaptureOrigin {
    std::string model, family;
};
/// Writes the inputs of a model and its captured hooks as .safetensors or .npz, depending on the ending of the path.
/// @throws Error if the path has another ending, or the file cannot be written
void writeCapture(const std::string& path, const CaptureOrigin& origin, std::vector<WrittenTensor> inputs,
                  const std::vector<CapturedHook>& hooks);
/// Writes the hooks of a language model, whose input is "tokens".
void writeCapture(const std::string& path, const ModelInfo& model, std::span<const int> tokens,
                  const std::vector<CapturedHook>& hooks);

/// Reads token ids: "1, 2,3". @throws Error naming the part that is not a number
std::vector<int> parseTokenIds(const std::string& text);

} // namespace attn
