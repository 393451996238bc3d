#pragma once

#include "engine/models/model_spec.h"

#include <string>

namespace attn {

// A config of a few bytes can describe a model that no machine runs: numbers of tokens cost their square. These limits
// are checked before anything is built.

/// The most layers of a model; the deepest known have a tenth.
inline constexpr int64_t kMostLayers = 1024;
/// The most cells of one head's pattern: 16,384 tokens, four times those of the largest known vision models, and 1 GiB.
inline constexpr int64_t kMostPatternCells = int64_t{1} << 28;
/// The most cells of all patterns of a vision model. The largest known, DINOv2-g on pictures of a million pixels, has a
/// fifth and takes minutes on a processor.
inline constexpr int64_t kMostModelCells = int64_t{1} << 37;
/// The most cells of the masks of a composed decoder: one mask a layer, or one a head where heads differ. They are all
/// visited when the model is opened: about a second. Models that this program trains have at most a tenth.
inline constexpr int64_t kMostMaskCells = int64_t{1} << 32;

/// Estimates the cost of opening a composed decoder at its whole context, or the patterns of a model of pictures. Other
/// decoders pass: their masks are not listed. @param file config.json, for the message  @throws Error naming the
/// numbers
void requireAffordable(const ModelSpec& config, const std::string& file);

} // namespace attn
