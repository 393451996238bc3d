#pragma once

#include "engine/models/decoder.h"
#include "engine/models/weight_recipe.h"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The names of the tensors in a folder. Families use them to detect prefixes and tied embeddings.
class TensorNames {
public:
    explicit TensorNames(std::vector<std::string> names);
    bool contains(std::string_view name) const;
    /// Adds `prefix` to the name if only the prefixed tensor exists.
    std::string resolve(std::string_view prefix, std::string_view name) const;

private:
    std::vector<std::string> sorted_;
};

class ConfigReader;

/// Refuses a file that holds projections of a layer whose mixer acts on the stream, as older versions wrote them.
/// @param block "blocks.3"  @throws Error
void requireNoProjections(const ConfigReader& read, const AttentionSpec& spec, const std::string& block,
                          const TensorNames& names);

/// A family of language models: recognises a config, describes the model and finds its parameters. Each has a file of
/// its own and a line in the catalogue.
struct ModelFamily {
    std::string_view id; ///< model_type in config.json
    std::string_view title;
    std::vector<std::string_view> modelTypes; ///< every model_type it reads
    /// @param file path of config.json, for messages  @throws Error naming the field that is missing or unusable
    DecoderConfig (*config)(const nlohmann::json& json, const std::string& file, const TensorNames& names);
    /// @param parameter the engine's name, e.g. "blocks.3.attn.W_Q"
    WeightRecipe (*recipe)(const DecoderConfig& config, const std::string& parameter, const TensorNames& names);
    /// Writes config.json, for models that the program trains; null: the family can only be read.
    nlohmann::json (*describe)(const DecoderConfig& config) = nullptr;
    std::string_view prefix{}; ///< prefix of tensors in written files
    /// Names that begin so have no prefix: those of the heads.
    std::vector<std::string_view> unprefixed{"lm_head", "score"};
    /// What precedes "ForSequenceClassification" in the names of its models with classes; empty: it has none.
    std::string_view classModels{};
};

/// All families of language models.
std::span<const ModelFamily* const> familyCatalogue();

/// The family of a config. @throws Error that lists the supported families
const ModelFamily& familyOf(const nlohmann::json& json, const std::string& file);

} // namespace attn
