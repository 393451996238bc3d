#pragma once

#include "engine/analysis/attention_rollout.h"
#include "engine/inference/site_pattern.h"

#include <optional>
#include <vector>

namespace attn {

/// The attention weights of a token on each patch, and on tokens that are not patches. Patches in the same token share
/// its weight.
struct PatchRow {
    std::vector<float> patches; ///< row by row; empty: there is no pattern
    double elsewhere = 0;       ///< weight on tokens that are not patches
    bool operator==(const PatchRow&) const = default;
};

/// The row of a token in the pattern of one head.
/// @param token index over the tokens before the patches, then the patches of the picture; a patch stands for the token
///              that contains it. None: the mean over all patches
PatchRow patchRow(const SitePattern& pattern, int head, std::optional<int> token);
/// The row of a token, with all heads combined.
PatchRow fusedPatchRow(const SitePattern& pattern, std::optional<int> token, HeadFusion fusion);
/// The row of a token in a rollout.
PatchRow patchRow(const TokenMap& map, std::optional<int> token);

/// first - second, per patch. @throws Error if the numbers of patches differ
std::vector<float> difference(const PatchRow& first, const PatchRow& second);

} // namespace attn
