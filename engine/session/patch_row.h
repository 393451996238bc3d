#pragma once

#include "engine/session/attention_rollout.h"
#include "engine/session/vision_info.h"

#include <optional>
#include <span>
#include <vector>

namespace attn {

/// What a token takes from each patch, and from the tokens that are none.
struct PatchRow {
    std::vector<float> patches; ///< row by row; empty: there is no map
    double elsewhere = 0;
    bool operator==(const PatchRow&) const = default;
};

/// A token's row of a map.
/// @param map   [T,T]
/// @param token none: the mean of all patches' rows
PatchRow patchRow(std::span<const float> map, const VisionInfo& info, std::optional<int> token);

/// The same of all heads as one. @param pattern [heads,T,T]
PatchRow fusedPatchRow(std::span<const float> pattern, const VisionInfo& info, std::optional<int> token,
                       HeadFusion fusion);

/// What the first has more than the second. @throws Error where they have not as many patches
std::vector<float> difference(const PatchRow& first, const PatchRow& second);

} // namespace attn
