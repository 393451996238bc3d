#pragma once

#include "engine/io/image.h"
#include "engine/models/block_builder.h"
#include "engine/models/config_reader.h"

#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// The properties that the name of one of timm's architectures tells and the tensors of a file do not show.
struct TimmArchitecture {
    int64_t width = 0; ///< C
    int64_t heads = 0; ///< H
    Activation activation = Activation::GeluErf;
    const Part* norm = &kLayerNormPart;
    std::string pool = "token";     ///< "token", "avg" or "map"
    bool hasPrefixPositions = true; ///< CLS and registers have positions of their own: not no_embed_class
    std::string obstacle{};         ///< why this program cannot compute it; empty: it can
};

/// Looks an architecture up, as vit_small_patch16_224 or deit3_base_patch16_384.in1k. What is behind a dot is ignored.
/// @return none if the name is in no table
/// @source timm, models/vision_transformer.py and models/deit.py
std::optional<TimmArchitecture> timmArchitecture(std::string_view name);

/// The fields of a timm config.json that say how pictures are prepared: pretrained_cfg, or config.json itself in older
/// files. @return none if it has no such fields
std::optional<ConfigReader> timmPictures(const ConfigReader& config);

/// The size of the pictures that timm builds a model for: model_args.img_size, else input_size. @return none if it says
/// neither  @throws Error naming the field
std::optional<ImageSize> timmImageSize(const ConfigReader& config);

} // namespace attn
