#pragma once

#include "engine/analysis/head_kinds.h"
#include "engine/inference/site_pattern.h"
#include "engine/io/image.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace attn {

class VisionModel;

/// Head kinds of vision models: names for the places that patches attend to. The rows of CLS and registers do not
/// count.
enum class PatchHeadKind : uint8_t {
    Itself,     ///< weight of a patch on itself
    ClassToken, ///< weight on CLS, and on the distillation token if there is one
    Registers,  ///< weight on all registers. @source Darcet et al. 2024, arXiv:2309.16588, section 2.2
    OneOffset,  ///< largest weight at one offset (rows down, columns right) other than (0, 0).
                ///< @source Cordonnier et al. 2020, arXiv:1911.03584, theorem 1
    Neighbours, ///< weight on the eight adjacent patches. @source Raghu et al. 2021, arXiv:2108.08810, section 4: local
                ///< heads
    RowAndColumn, ///< weight on patches of the same row or column, without the neighbours
    Positional,   ///< 1 - half the sum of |difference of the weights| after shuffling the patches of the picture
    Content, ///< correlation of weight and patchSimilarity() over pairs of different patches, both minus the mean of
             ///< the query; negative values count as 0
    WholePicture ///< entropy of the weights divided by the largest possible entropy.
                 ///< @source Raghu et al. 2021, section 4: global heads; by entropy: Clark et al. 2019,
                 ///< arXiv:1906.04341, section 3.2
};
inline constexpr size_t kPatchHeadKinds = 9;

/// The kinds in the order of PatchHeadKind. Single tokens and offsets are the most specific, then areas, then
/// Positional and Content, then WholePicture.
std::span<const HeadKind> patchHeadKinds();

/// The data about a layer that scores need besides its pattern.
struct PatchHeadSite {
    ImageSize grid{};        ///< grid of the tokens after the prefix; empty if they have no places, as after pooling
    int64_t classTokens = 0; ///< class tokens at the start of the prefix; the rest of the prefix is registers
    std::span<const float> pixelSimilarity{}; ///< from patchSimilarity(); empty: Content has no score
    std::span<const float> shuffled{}; ///< SitePattern::values with shuffled patches; empty: Positional has no score
};
/// Scores the heads of one layer. @return one per head; their site is 0  @throws Error if a size does not fit
std::vector<HeadScores> patchHeadScores(const SitePattern& pattern, const PatchHeadSite& layer);

/// The similarity of the pixels of two tokens: minus the root mean square of their difference. A token of several
/// patches has the mean of their pixels.
/// @param patches [patches, values per patch]
/// @return one value per cell of a head, in the order of LayerLayout::forRows(); 0 for tokens that are not patches
std::vector<float> patchSimilarity(const LayerLayout& layout, std::span<const float> patches);

/// A random permutation of 0 to count - 1 that depends only on the seed.
std::vector<int> shuffledOrder(int count, uint64_t seed);

/// The kinds and fingerprints of the heads of a vision model, from two runs: on the picture, and on the picture with
/// shuffled patches. HeadDetection::alike is empty.
HeadDetection detectOnPatches(VisionModel& model, const Input& picture, uint64_t seed,
                              const std::function<void(float share)>& report);

} // namespace attn
