#pragma once

#include "engine/analysis/patch_head_prints.h"
#include "engine/io/image.h"
#include "engine/session/layer_pattern.h"
#include "engine/session/vision_analysis.h"

#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// Kinds of heads of a vision model by where patches look. Only patches are asked: rows of CLS and registers do not
/// count.
enum class PatchHeadKind : uint8_t {
    Itself,       ///< the weight of a patch on itself
    ClassToken,   ///< on CLS, and on the distillation token where there is one
    Registers,    ///< on all registers. @source Darcet et al. 2024, arXiv:2309.16588, section 2.2
    OneOffset,    ///< the largest weight at one distance down and right, other than none.
                  ///< @source Cordonnier et al. 2020, arXiv:1911.03584, theorem 1
    Neighbours,   ///< on the eight patches around. @source Raghu et al. 2021, arXiv:2108.08810, section 4: local heads
    RowAndColumn, ///< on patches of the same row or column that are no neighbours
    Positional,   ///< 1 less half the sum of what weights differ by when the patches of the picture are shuffled
    Content,      ///< how weights go with likeness of pixels: correlation over pairs of different patches, both less
                  ///< their mean of the query; 0 where it is negative
    WholePicture  ///< entropy of the weights as a share of the largest that there could be.
                  ///< @source Raghu et al. 2021, section 4: global heads; by entropy: Clark et al. 2019,
                  ///< arXiv:1906.04341, section 3.2
};
inline constexpr size_t kPatchHeadKinds = 9;

/// A kind in words.
struct PatchHeadKindText {
    const char* id;          ///< "one_offset"
    const char* title;       ///< "one offset"
    const char* explanation; ///< one sentence
    const char* source;      ///< a paper; empty: the definition is ours
};
const PatchHeadKindText& textOf(PatchHeadKind kind);

/// How much of each kind one head is: means over the patches.
struct PatchHeadScores {
    using Scores = std::array<float, kPatchHeadKinds>;

    int layer = 0, head = 0;
    Scores scores = none(); ///< 0..1; NaN: the layer has no such tokens, or they have no place
    /// The same beyond what an even spread over all that is seen would have: 0 for it, 1 for all of the weight.
    /// Of Content and WholePicture the scores themselves.
    Scores beyond = none();
    int down = 0, right = 0; ///< of OneOffset, in tokens of the layer

    float of(PatchHeadKind kind) const { return scores[static_cast<size_t>(kind)]; }
    /// What it is called: of the most special kinds that it has enough of, the strongest. Tokens by themselves come
    /// before areas, those before what decides where it looks, and last the whole picture. None: mixed.
    std::optional<PatchHeadKind> kind() const;
    std::string title() const; ///< "neighbours", "one offset (0, +1)", "mixed"

private:
    static Scores none() {
        Scores all;
        all.fill(std::numeric_limits<float>::quiet_NaN());
        return all;
    }
};

/// What is known of a layer besides its pattern.
struct PatchHeadLayer {
    ImageSize grid{};        ///< of the tokens behind the prefix; of no area: they have no place, as pooled ones
    int64_t classTokens = 0; ///< at the beginning of the prefix; the rest of it are registers
    std::span<const float> likeness{}; ///< by patchLikeness(); empty: no reading of Content
    std::span<const float> shuffled{}; ///< LayerPattern::values with the patches shuffled; empty: none of Positional
};
/// @return of each head of the layer, as layer 0  @throws Error for a pattern of another size
std::vector<PatchHeadScores> patchHeadScores(const LayerPattern& pattern, const PatchHeadLayer& layer);

/// How alike the pixels of tokens are: less the root of the mean square of their difference. A token of several patches
/// has their mean.
/// @param patches [patches, numbers of each]
/// @return of each cell of a head as LayerLayout::forRows() counts them; 0 for tokens of no patch
std::vector<float> patchLikeness(const LayerLayout& layout, std::span<const float> patches);

/// The numbers 0 to count - 1 in an order that only the seed decides.
std::vector<int> shuffledOrder(int count, uint64_t seed);

struct PatchHeadDetection : VisionAnalysisResult {
    std::vector<PatchHeadScores> heads; ///< by layer, then head; of layers that form a pattern
    std::vector<PatchHeadPrint> prints; ///< of each of them
    std::vector<float> alike;           ///< [heads, heads]: how alike their prints are
    /// @return its place in `heads`  @throws Error if there is no such head
    size_t indexOf(int layer, int head) const;
};

/// How alike each of `others` is to a head. @return [others.heads]
std::vector<float> likenessTo(const PatchHeadPrint& head, const PatchHeadDetection& others);
/// Groups of heads that are at least so alike, as averageLinkage() makes them. @return places in `heads`
std::vector<std::vector<size_t>> headGroups(const PatchHeadDetection& detection, float least);

/// Looks at the picture, and at it with its patches shuffled.
struct PatchHeadAnalysis : VisionAnalysis {
    uint64_t seed = 1;
    std::string key() const override { return "patch_head_kinds"; }
    /// @throws Error where no layer forms a pattern
    std::shared_ptr<VisionAnalysisResult> run(VisionModel& model, const VisionAnalysisInput& input) const override;
};

} // namespace attn
