#pragma once

#include "engine/io/resample.h"
#include "engine/models/model_spec.h"
#include "engine/models/weight_recipe.h"

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// The names of the tensors in a folder. Families use them to detect prefixes, heads and tied embeddings.
class TensorNames {
public:
    explicit TensorNames(std::vector<std::string> names);
    explicit TensorNames(const WeightSource& weights);        ///< @param weights must outlive this
    const WeightSource& weights() const { return *weights_; } ///< @pre made of them
    int64_t rowsOf(const std::string& tensor) const; ///< extent of its first axis  @throws Error if it is missing
    bool contains(std::string_view name) const;
    /// Adds `prefix` to the name if the prefixed tensor exists; of two, transformers reads that one.
    /// @source transformers 4, modeling_utils.py, _load_pretrained_model, base_model_prefix
    std::string resolve(std::string_view prefix, std::string_view name) const;

private:
    std::vector<std::string> sorted_;
    const WeightSource* weights_ = nullptr;
};

class ConfigReader;

/// The rule by which the readout of tokens is the embedding or a table of its own.
struct TiedReadout {
    std::string_view stored{};    ///< the readout's tensor in the files, without a prefix; empty: the family has none
    bool byDefault = true;        ///< where the configuration has no tie_word_embeddings
    std::string_view looseType{}; ///< the model_type that does not tie it by default
    /// Whether a stored readout is used although the configuration ties it.
    bool prefersStored = false;

    bool asked(const ConfigReader& read) const;                             ///< whether the configuration ties it
    bool inForce(const ConfigReader& read, const TensorNames& names) const; ///< whether the embedding is used
};

/// Refuses a file that holds projections of a layer whose mixer acts on the stream, as older versions wrote them.
/// @param block "blocks.3"  @throws Error
void requireNoProjections(const ConfigReader& read, const AttentionSpec& spec, const std::string& block,
                          const TensorNames& names);

/// A family of models: recognises a folder, describes the model and finds its parameters. Each has a file of its own
/// and a line in the catalogue.
struct ModelFamily {
    std::string_view id; ///< model_type in config.json
    std::string_view title;
    AxisKind axis = AxisKind::Tokens;                       ///< of what its models read
    std::vector<std::string_view> modelTypes;               ///< every model_type it reads; empty: see `recognises`
    bool (*recognises)(const TensorNames& names) = nullptr; ///< for folders without a model_type
    /// Describes the model, one of pictures at the image size of its positions.
    /// @throws Error naming the field or tensor that is missing or unusable
    ModelSpec (*config)(const ConfigReader& read, const TensorNames& names);
    /// @param parameter the engine's name, e.g. "blocks.3.attn.W_Q"
    WeightRecipe (*recipe)(const ModelSpec& config, const std::string& parameter, const TensorNames& names);
    /// Writes config.json, for models that the program trains; null: the family can only be read.
    nlohmann::json (*describe)(const ModelSpec& config) = nullptr;
    std::string_view prefix{}; ///< prefix of tensors in written files
    /// Names that begin so have no prefix: those of the heads.
    std::vector<std::string_view> unprefixed{"lm_head", "score", "classifier", "qa_outputs"};
    /// The beginnings of the names of its models with classes, before "ForSequenceClassification"; the first is
    /// written. Empty: it has none.
    std::span<const std::string_view> classModels{};
    TiedReadout tie{};
    GridFilter positionFilter = GridFilter::Bicubic; ///< interpolates the positions of patches to another grid
    /// Globs of the tensors that files hold for other purposes: buffers, and heads that this program does not have.
    std::vector<std::string_view> leftovers{};
    /// Tensors that the reference ties, of which files may hold both: the first is read if it is there.
    std::vector<std::pair<std::string_view, std::string_view>> twins{};
    /// What else of the files the computation does not follow, in sentences for the person; null: nothing.
    std::vector<std::string> (*remarks)(const WeightSource& weights, const ModelSpec& config) = nullptr;
    /// Fields that files have and that neither the reference nor this program reads.
    std::vector<std::string_view> spareFields{};
};

/// The recipe of a parameter: the family's, but an embedding that files hold only as the readout is read from there.
WeightRecipe recipeOf(const ModelFamily& family, const ModelSpec& config, const std::string& parameter,
                      const TensorNames& names);

/// All families.
std::span<const ModelFamily* const> familyCatalogue();

/// The family of a folder. @throws Error that lists the supported families
const ModelFamily& familyOf(const ConfigReader& read, const TensorNames& names);
/// The family of a description. @return null if its name is none
const ModelFamily* familyNamed(std::string_view id);

} // namespace attn
