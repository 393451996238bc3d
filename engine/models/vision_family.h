#pragma once

#include "engine/io/image_preprocessing.h"
#include "engine/io/weight_source.h"
#include "engine/models/config_reader.h"
#include "engine/models/family.h"
#include "engine/models/vision_config.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A model folder as families see it: its config and its tensors.
struct VisionFolder {
    const WeightSource& weights;
    const TensorNames& names;

    ConfigReader config() const { return {weights.config(), weights.configFile(), &weights.fieldLog()}; }
    int64_t rowsOf(const std::string& tensor) const; ///< extent of its first axis  @throws Error if it is missing
};

/// A family of vision models: recognises a folder, describes the model and finds its parameters. Each has a file of its
/// own and a line in the catalogue.
struct VisionFamily {
    std::string_view id;
    std::string_view title;
    std::vector<std::string_view> modelTypes;                 ///< every model_type it reads; empty: see `recognises`
    bool (*recognises)(const VisionFolder& folder) = nullptr; ///< for folders without a model_type
    /// Describes the model at the image size of its positions. @throws Error naming the field or tensor
    VisionConfig (*config)(const VisionFolder& folder);
    /// @param parameter the engine's name, e.g. "blocks.3.attn.W_Q"
    WeightRecipe (*recipe)(const VisionConfig& config, const std::string& parameter, const TensorNames& names);
    /// The filter that interpolates positions to another grid.
    GridFilter positionFilter = GridFilter::Bicubic;
    std::string_view prefix{}; ///< prefix of tensors in written files, except the classifier
    /// Writes config.json; null: the family can only be read.
    nlohmann::json (*describe)(const VisionConfig& config) = nullptr;
    /// Globs of the tensors that files hold for other purposes: buffers, and heads that this program does not have.
    std::vector<std::string_view> leftovers{};
    /// Fields that files have and that neither the reference nor this program reads.
    std::vector<std::string_view> spareFields{};
};

/// All families of vision models.
std::span<const VisionFamily* const> visionCatalogue();

/// The family of a folder; null if none recognises it.
const VisionFamily* visionFamilyOf(const VisionFolder& folder);

/// Reads a number or [height, width]. @throws Error naming the field
ImageSize sizeField(const ConfigReader& read, const char* field, int64_t fallback);

/// Checks patches. @throws Error naming the field if they are not square, do not divide the image, or are too many
void requireSquarePatches(const ConfigReader& read, const ImageSize& image, const ImageSize& patch);
/// Reads the number of channels, 1 or 3. @throws Error naming the field
int64_t channelsField(const ConfigReader& read);

/// Reads the fields that all Hugging Face vision transformers have: image, patch, channels, width, layers and heads.
/// @throws Error naming the field
VisionConfig visionConfigOf(const ConfigReader& read);
/// Writes the fields that visionConfigOf() reads.
nlohmann::json visionConfigJson(const VisionConfig& config);
/// A number of equal layers of bidirectional attention. @throws Error if the heads do not divide the width
std::vector<LayerAttention> visionLayers(const ConfigReader& read, const char* headsField, int64_t width, int64_t heads,
                                         int64_t layers, bool queryKeyValueBias);

/// A layer of plain bidirectional attention, or of a composition with its own heads. @throws Error if the heads do not
/// divide the width
LayerAttention visionLayer(int64_t width, int64_t heads, std::optional<AttentionSpec> spec = {});

/// Whether all layers have plain bidirectional attention.
bool hasPlainAttention(const VisionConfig& config);

extern const VisionFamily kVit, kDeit, kDinov2, kDinov2WithRegisters, kSwin, kTimmVit, kComposedVit;

} // namespace attn
