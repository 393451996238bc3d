#pragma once

#include "engine/io/image_preprocessing.h"
#include "engine/models/model_spec.h"
#include "engine/models/weight_recipe.h"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// The contents of a model folder besides the parameters.
struct FolderText {
    // Of texts.
    std::string tokenizerJson{};
    std::vector<int> stopTokens{}; ///< tokens that end generation
    std::string examplePrompt{};   ///< prompt that is shown when the folder opens; empty: none
    /// Of a model that reads and writes text as the one from which it was trained: that one's config.json, and its
    /// small files of tokens and of generation by their names.
    std::string configBefore{};
    std::map<std::string, std::string> smallFiles{};
    // Of pictures.
    ImagePreprocessing preprocessing{};
    std::vector<std::pair<std::string, Image>> examples{}; ///< written as examples/NAME.ppm
};

/// Writes a Hugging Face folder: config.json, model.safetensors (float32, the family's tensor names), and
/// tokenizer.json or preprocessor_config.json. Biases that the format requires and the model lacks are written as
/// zeros.
/// @param read returns the dense values of a parameter, by the engine's name
/// @throws Error if a file cannot be written, or the family can only be read
void writeModelFolder(const std::filesystem::path& folder, const ModelSpec& config, const FolderText& text,
                      const std::function<std::vector<float>(const std::string& parameter)>& read);

/// Where writeModelFolder() puts a parameter: the tensor's whole name. @return none if only this program reads the
/// format
std::optional<WeightRecipe> placeInFile(const ModelSpec& config, const std::string& parameter);

/// Checks that writeModelFolder() can write a model, so that it is read again as it is.
/// @param where for the message  @throws Error if the family, or a setting of this model, can only be read, or if
/// pictures have no classifier
void requireWritable(const ModelSpec& config, const std::string& where);

/// The config.json of a model. The family must be one that can be written.
std::string writtenConfig(const ModelSpec& config);

} // namespace attn
