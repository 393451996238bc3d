#pragma once

#include "engine/analysis/analysis.h"
#include "engine/analysis/patch_head_prints.h"
#include "engine/inference/site_pattern.h"
#include "engine/io/image.h"

#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attn {

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

/// The texts about a kind.
struct PatchHeadKindText {
    const char* id;          ///< "one_offset"
    const char* title;       ///< "one offset"
    const char* explanation; ///< one sentence
    const char* source;      ///< the paper; empty: the definition is ours
};
/// The texts about a kind.
const PatchHeadKindText& textOf(PatchHeadKind kind);

/// The scores of one head for all kinds: means over the patches.
struct PatchHeadScores {
    using Scores = std::array<float, kPatchHeadKinds>;

    int site = 0, head = 0;
    Scores scores = none(); ///< 0 to 1; NaN: the site has no such tokens, or tokens without places
    /// The scores beyond an even distribution over the visible tokens: 0 for an even one, 1 for all of the weight.
    /// Equal to `scores` for Content and WholePicture.
    Scores beyond = none();
    int down = 0, right = 0; ///< offset of OneOffset, in tokens of the site

    /// The score for a kind.
    float of(PatchHeadKind kind) const { return scores[static_cast<size_t>(kind)]; }
    /// The kind that names the head: the strongest of the most specific kinds with a sufficient score. Single tokens
    /// and offsets come first, then areas, then Positional and Content, then WholePicture. No value: mixed.
    std::optional<PatchHeadKind> kind() const;
    std::string title() const; ///< "neighbours", "one offset (0, +1)", "mixed"

private:
    static Scores none() {
        Scores all;
        all.fill(std::numeric_limits<float>::quiet_NaN());
        return all;
    }
};

/// The data about a layer that scores need besides its pattern.
struct PatchHeadSite {
    ImageSize grid{};        ///< grid of the tokens after the prefix; empty if they have no places, as after pooling
    int64_t classTokens = 0; ///< class tokens at the start of the prefix; the rest of the prefix is registers
    std::span<const float> pixelSimilarity{}; ///< from patchSimilarity(); empty: Content has no score
    std::span<const float> shuffled{}; ///< SitePattern::values with shuffled patches; empty: Positional has no score
};
/// Scores the heads of one layer. @return one per head; their `layer` is 0  @throws Error if a size does not fit
std::vector<PatchHeadScores> patchHeadScores(const SitePattern& pattern, const PatchHeadSite& layer);

/// The similarity of the pixels of two tokens: minus the root mean square of their difference. A token of several
/// patches has the mean of their pixels.
/// @param patches [patches, values per patch]
/// @return one value per cell of a head, in the order of LayerLayout::forRows(); 0 for tokens that are not patches
std::vector<float> patchSimilarity(const LayerLayout& layout, std::span<const float> patches);

/// A random permutation of 0 to count - 1 that depends only on the seed.
std::vector<int> shuffledOrder(int count, uint64_t seed);

/// The kinds and fingerprints of the heads of a vision model on a picture.
struct PatchHeadDetection : AnalysisResult {
    std::vector<PatchHeadScores> heads; ///< by layer, then head, for layers that form a pattern
    std::vector<PatchHeadPrint> prints; ///< one per head
    std::vector<float> alike;           ///< [heads, heads] similarity of their fingerprints
    /// @return the index of a head in `heads`  @throws Error if there is no such head
    size_t indexOf(int layer, int head) const;
};

/// The similarity of each head of `others` to a head. @return [others.heads]
std::vector<float> similaritiesTo(const PatchHeadPrint& head, const PatchHeadDetection& others);
/// Groups of heads by averageLinkage(), with a mean similarity of at least `least`. @return indices of `heads`
std::vector<std::vector<size_t>> headGroups(const PatchHeadDetection& detection, float least);

/// Computes PatchHeadDetection from two runs: on the picture, and on the picture with shuffled patches.
struct PatchHeadAnalysis : Analysis {
    uint64_t seed = 1;
    std::string key() const override { return "patch_head_kinds"; }
    /// @throws Error if no layer forms a pattern
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
