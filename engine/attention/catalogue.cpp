#include "engine/attention/catalogue.h"

#include "engine/attention/mask/catalogue.h"
#include "engine/attention/parts.h"
#include "engine/core/error.h"
#include "engine/core/nearest_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

std::vector<const Part*> collect() {
    std::vector<const Part*> parts{
        // heads
        &kSingleHead, &kMultiHead, &kMultiQuery, &kGroupedQuery, &kSharedQueryKey, &kTalkingHeads,
        // projections
        &kOneProjection, &kGlobalProjections,
        // position
        &kNoPosition, &kSinusoidalPosition, &kLearnedPosition, &kShawPosition, &kTransformerXlPosition, &kT5Position,
        &kToeplitzPosition, &kRotaryPosition, &kAlibiPosition, &kDistanceAwarePosition, &kSinusoidal2dPosition,
        &kLearned2dPosition, &kGridBiasPosition, &kLogBiasPosition, &kUniversalPosition, &kEtcPosition, &kTupePosition,
        &kDependencyTreePosition,
        // score
        &kScaledDotScore, &kDotScore, &kAdditiveScore, &kBilinearScore, &kCosineScore, &kLearnedCosineScore,
        &kRandomSynthesizerScore,
        // normaliser
        &kSoftmaxNormaliser, &kLinearNormaliser, &kRandomFeatureNormaliser, &kPerformerNormaliser,
        &kEfficientNormaliser, &kRunningEfficientNormaliser, &kXcitNormaliser, &kAftNormaliser, &kSimpleAftNormaliser,
        &kLocalAftNormaliser, &kConvolvedAftNormaliser, &kLinformerNormaliser, &kReformerNormaliser,
        &kRoutingNormaliser, &kCompressedNormaliser,
        // memory
        &kNoMemory, &kSegmentMemory, &kNearestMemory,
        // output
        &kPlainOutput, &kTalkingOutput, &kGatedOutput,
        // mixer
        &kAttentionMixer, &kFourierMixer, &kMlpMixer, &kFastWeightMixer, &kDeltaRuleMixer, &kElmanMixer, &kLstmMixer,
        &kGruMixer,
        // the block around it: norm, feed-forward, residual, layers
        &kLayerNormPart, &kRmsNormPart, &kScaleNormPart, &kFixNormPart, &kNoNormPart, &kReluFeedForward,
        &kGeluFeedForward, &kSwigluFeedForward, &kPreNormResidual, &kLayerScaleResidual, &kParallelResidual,
        &kPostNormResidual, &kResidualPostNorm, &kGruGateResidual, &kReversibleResidual, &kPatchResidual,
        &kAxialResidual, &kNoResidual, &kStackedLayers, &kSharedLayers};
    const auto masks = maskParts();
    parts.insert(std::ranges::find(parts, &kSoftmaxNormaliser), masks.begin(), masks.end());
    return parts;
}

} // namespace

std::span<const Part* const> partCatalogue() {
    static const std::vector<const Part*> kParts = collect();
    return kParts;
}

const Part* findPart(Slot slot, std::string_view id) {
    const auto parts = partCatalogue();
    const auto found =
        std::ranges::find_if(parts, [&](const Part* part) { return part->slot == slot && part->id == id; });
    return found == parts.end() ? nullptr : *found;
}

const Part& partNamed(Slot slot, std::string_view id) {
    if (const Part* part = findPart(slot, id)) return *part;
    std::vector<std::string> ids;
    for (const Part* part : partCatalogue())
        if (part->slot == slot) ids.emplace_back(part->id);
    throw Error({.what = fmt::format("there is no {} \"{}\"", nameOf(slot), id),
                 .where = std::string(nameOf(slot)),
                 .hint = fmt::format("did you mean {}? All: {}", fmt::join(nearestNames(id, ids, 1), ""),
                                     fmt::join(ids, ", "))});
}

} // namespace attn
