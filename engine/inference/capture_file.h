#pragma once

#include "engine/inference/language_model.h"
#include "engine/io/tensor_writer.h"

#include <span>
#include <string>
#include <vector>

namespace attn {

/// Writes the input of a model ("tokens" or "patches") and its captured hooks as .safetensors or .npz, depending on the
/// ending of the path.
/// @throws Error if the path has another ending, or the file cannot be written
void writeCapture(const std::string& path, const ModelInfo& model, const Input& input,
                  const std::vector<CapturedHook>& hooks);

/// How many values of a hook are no result: NaN or infinite, and of logits those of wrongLogits(). What a mask hides
/// has the score kMasked.
int64_t strangeValues(const CapturedHook& hook, const ModelInfo& model);

/// Reads token ids: "1, 2,3". @throws Error naming the part that is not a number
std::vector<int> parseTokenIds(const std::string& text);

} // namespace attn
