#pragma once

#include "engine/io/image.h"
#include "engine/session/layer_pattern.h"

#include <vector>

namespace attn {

/// What a head of a vision model makes of a picture, in few numbers that heads of other layers and other models have
/// too, whatever their patches.
struct PatchHeadPrint {
    static constexpr int64_t kMostAreas = 7; ///< on a side
    static constexpr int64_t kReach = 3;     ///< tokens, down and right

    ImageSize areas{}; ///< rows and columns of equal parts of the picture
    /// [areas, areas + 2]: mean weight of the patches of each area on those of each, on the tokens of the class, and on
    /// other tokens that are no patches.
    std::vector<float> weights;
    /// [(2 kReach + 1)² + 1]: mean weight by way down and right from the token that looks, and further away or on no
    /// patch; empty where tokens have no place.
    std::vector<float> offsets;
};

/// @param patches of the picture  @param grid of the tokens behind the prefix; of no area: they have no place
/// @param classTokens at the beginning of the prefix
/// @return of each head of the layer  @throws Error for a pattern of another size
std::vector<PatchHeadPrint> patchHeadPrints(const LayerPattern& pattern, ImageSize patches, ImageSize grid,
                                            int64_t classTokens);

/// How alike two heads are, 0 to 1 for equal prints: the mean over the areas of the sum of sqrt(p q) of their rows, and
/// where both have offsets the mean of that and of the same of the offsets. Prints of different areas are compared as
/// if patches had the size of the larger ones.
/// @source Bhattacharyya 1943, "On a measure of divergence between two statistical populations"
float similarity(const PatchHeadPrint& a, const PatchHeadPrint& b);

} // namespace attn
