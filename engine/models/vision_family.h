#pragma once

#include "engine/models/config_reader.h"
#include "engine/models/family.h"

#include <optional>
#include <string>
#include <vector>

namespace attn {

// What families of models of pictures share.

/// Reads a number or [height, width]. @throws Error naming the field
ImageSize sizeField(const ConfigReader& read, const char* field, int64_t fallback);

/// Checks patches. @throws Error naming the field if they are not square, do not divide the image, or are too many
void requireSquarePatches(const ConfigReader& read, const ImageSize& image, const ImageSize& patch);
/// Reads the number of channels, 1 or 3. @throws Error naming the field
int64_t channelsField(const ConfigReader& read);

/// Reads the fields that all Hugging Face vision transformers have: image, patch, channels, width, layers and heads.
/// @throws Error naming the field
ModelSpec visionConfigOf(const ConfigReader& read, int64_t usualPatch = 16);
/// Writes the fields that visionConfigOf() reads.
nlohmann::json visionConfigJson(const ModelSpec& config);
/// A number of equal layers of bidirectional attention. @throws Error if the heads do not divide the width
std::vector<LayerAttention> visionLayers(const ConfigReader& read, const char* headsField, int64_t width, int64_t heads,
                                         int64_t layers, bool queryKeyValueBias);

/// A layer of plain bidirectional attention, or of a composition with its own heads. @throws Error if the heads do not
/// divide the width
LayerAttention visionLayer(int64_t width, int64_t heads, std::optional<AttentionSpec> spec = {});

/// Whether all layers have plain bidirectional attention.
bool hasPlainAttention(const ModelSpec& config);

/// The family whose format a model of pictures is written in: that of ViT, unless only this program has such models.
const ModelFamily& writtenFamily(const ModelSpec& config);

} // namespace attn
