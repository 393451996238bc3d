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

/// What a family tells models by: the folder's config and the tensors it holds.
struct VisionFolder {
    const WeightSource& weights;
    const TensorNames& names;

    ConfigReader config() const { return {weights.config(), weights.configFile()}; }
    int64_t rowsOf(const std::string& tensor) const; ///< extent of its first axis  @throws Error if it is missing
};

/// One family of vision models: recognises a folder, describes the model and finds its weights. One file each, one line
/// in the catalogue.
struct VisionFamily {
    std::string_view id;
    std::string_view title;
    std::vector<std::string_view> modelTypes; ///< every model_type it reads; empty: it is known by its tensors
    bool (*recognises)(const VisionFolder& folder) = nullptr; ///< where there is no model_type
    /// At the size of image that the positions were trained for. @throws Error naming the field or tensor
    VisionConfig (*config)(const VisionFolder& folder);
    /// @param parameter the engine's name, e.g. "blocks.3.attn.W_Q"
    WeightRecipe (*recipe)(const VisionConfig& config, const std::string& parameter, const TensorNames& names);
    /// How positions are brought to another grid.
    GridFilter positionFilter = GridFilter::Bicubic;
    std::string_view prefix{}; ///< of tensors that are written, but for those of the head
    /// config.json of a model that is written; null where the family is only read.
    nlohmann::json (*describe)(const VisionConfig& config) = nullptr;
};

std::span<const VisionFamily* const> visionCatalogue();

/// The family that reads a folder; null where it holds no vision model that is known.
const VisionFamily* visionFamilyOf(const VisionFolder& folder);

/// A number or [height, width]. @throws Error naming the field
ImageSize sizeField(const ConfigReader& read, const char* field, int64_t fallback);

/// @throws Error naming the field where patches are not square, do not divide the image or are too many
void requireSquarePatches(const ConfigReader& read, const ImageSize& image, const ImageSize& patch);
/// 1 or 3. @throws Error naming the field
int64_t channelsField(const ConfigReader& read);

/// What Hugging Face's configs of vision transformers share: image, patch, channels, width, layers and heads.
/// @throws Error naming the field
VisionConfig visionConfigOf(const ConfigReader& read);
/// The fields that it reads.
nlohmann::json visionConfigJson(const VisionConfig& config);
/// So many equal layers of bidirectional attention. @throws Error if the heads do not divide the width
std::vector<LayerAttention> visionLayers(const ConfigReader& read, const char* headsField, int64_t width, int64_t heads,
                                         int64_t layers, bool queryKeyValueBias);

/// One layer, with the heads of its composition where it has one. @throws Error if heads do not divide the width
LayerAttention visionLayer(int64_t width, int64_t heads, std::optional<AttentionSpec> spec = {});

extern const VisionFamily kVit, kDeit, kDinov2, kDinov2WithRegisters, kSwin, kTimmVit, kComposedVit;

} // namespace attn
