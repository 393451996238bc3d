#pragma once

#include "engine/session/attention_rollout.h"
#include "engine/session/layer_pattern.h"

#include <optional>
#include <vector>

namespace attn {

/// What a token takes from each patch, and from the tokens that are none. Patches that are parts of one token share its
/// number.
struct PatchRow {
    std::vector<float> patches; ///< row by row; empty: there is no map
    double elsewhere = 0;
    bool operator==(const PatchRow&) const = default;
};

/// A token's row of one head.
/// @param token counts the tokens before the patches, then the patches of the picture: of a patch, the token that it is
///              part of; none: the mean of all patches' rows
PatchRow patchRow(const LayerPattern& pattern, int head, std::optional<int> token);
/// The same of all heads as one.
PatchRow fusedPatchRow(const LayerPattern& pattern, std::optional<int> token, HeadFusion fusion);
/// The same of a rollout.
PatchRow patchRow(const TokenMap& map, std::optional<int> token);

/// What the first has more than the second. @throws Error where they have not as many patches
std::vector<float> difference(const PatchRow& first, const PatchRow& second);

} // namespace attn
