#pragma once

#include "engine/inference/site_pattern.h"
#include "engine/io/image.h"

#include <vector>

namespace attn {

/// The fingerprint of a head: a few numbers that can be compared between layers and models. Of pictures, it does not
/// depend on the size of patches. Of texts, it is the pattern on random tokens that repeat at the same positions in
/// every model.
struct HeadPrint {
    static constexpr int64_t kMostAreas = 7; ///< areas per side
    static constexpr int64_t kReach = 3;     ///< largest offset, in tokens down and right

    ImageSize areas{}; ///< rows and columns of equal areas of the picture; one row of all tokens of a text
    /// [areas, areas + 2]: mean weight of the patches in each area on the patches in each area, on class tokens, and on
    /// registers. [tokens, tokens] of a text.
    std::vector<float> weights;
    /// [(2 kReach + 1)² + 1]: mean weight by offset from the query. The last value is the weight beyond kReach or on
    /// tokens that are not patches. Empty if tokens have no places.
    std::vector<float> offsets;

    size_t columns() const { return weights.size() / static_cast<size_t>(areas.area()); } ///< of `weights`
};

/// The fingerprints of the heads of one site on a text. @return one per head
std::vector<HeadPrint> textHeadPrints(const SitePattern& pattern);

/// The fingerprints of the heads of one layer.
/// @param patches rows and columns of patches  @param grid tokens after the prefix; empty if they have no places
/// @param classTokens number of class tokens at the start of the prefix
/// @return one per head  @throws Error if a size does not fit
std::vector<HeadPrint> patchHeadPrints(const SitePattern& pattern, ImageSize patches, ImageSize grid,
                                       int64_t classTokens);

/// The similarity of two fingerprints, from 0 to 1 (equal): the mean over areas of overlap() of their rows, averaged
/// with the overlap() of the offsets if both have them. Fingerprints of different areas are compared at the coarser
/// resolution.
/// @source Bhattacharyya 1943, "On a measure of divergence between two statistical populations"
float similarity(const HeadPrint& a, const HeadPrint& b);

} // namespace attn
