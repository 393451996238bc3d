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

/// The tensors that a folder holds, so that a family can tell prefixes and tied embeddings by what is there.
class TensorNames {
public:
    explicit TensorNames(std::vector<std::string> names);
    bool contains(std::string_view name) const;
    /// The given name, with `prefix` in front if only that one is there.
    std::string resolve(std::string_view prefix, std::string_view name) const;

private:
    std::vector<std::string> sorted_;
};

/// One model family: recognises a config, describes the model and finds its weights. One file each, one line in the
/// catalogue.
struct ModelFamily {
    std::string_view id; ///< model_type in config.json
    std::string_view title;
    std::vector<std::string_view> modelTypes; ///< every model_type it reads
    /// @param file path of config.json, for messages  @throws Error naming the field that is missing or unusable
    DecoderConfig (*config)(const nlohmann::json& json, const std::string& file, const TensorNames& names);
    /// @param parameter the engine's name, e.g. "blocks.3.attn.W_Q"
    WeightRecipe (*recipe)(const DecoderConfig& config, const std::string& parameter, const TensorNames& names);
    /// config.json of a model of this family, for what the program trains; null: it is only read.
    nlohmann::json (*describe)(const DecoderConfig& config) = nullptr;
    std::string_view prefix{}; ///< of written tensor names, except lm_head's
};

std::span<const ModelFamily* const> familyCatalogue();

/// The family that reads this config. @throws Error that lists the supported ones
const ModelFamily& familyOf(const nlohmann::json& json, const std::string& file);

} // namespace attn
