#include "app/figures/lens_overlays.h"

#include "engine/analysis/attention_rollout.h"
#include "engine/analysis/head_circuits.h"
#include "engine/analysis/input_attribution.h"
#include "engine/analysis/sweeps.h"
#include "engine/analysis/weighted_attention.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace attn {
namespace {

/// An overlay with one number for each token of a layer.
PatchOverlayFigure overlayOf(const LensSubject& subject, const LayerLayout& layout,
                             const std::function<float(size_t token)>& valueOf) {
    std::vector<float> values;
    for (const int32_t token : layout.tokenOf) values.push_back(valueOf(static_cast<size_t>(token)));
    PatchOverlayFigure figure = subject.axis.overlay(std::move(values), &layout);
    figure.opacity = 0.75;
    return figure;
}

} // namespace

QString stageName(const LogitLens::Stage& stage) {
    if (stage.stack == "encoder")
        return stage.layer < 0 ? LensText::tr("encoder embedding") : LensText::tr("encoder layer %1").arg(stage.layer);
    if (!stage.stack.empty())
        return stage.layer < 0 ? LensText::tr("decoder embedding") : LensText::tr("decoder layer %1").arg(stage.layer);
    return stage.layer < 0 ? LensText::tr("embedding") : LensText::tr("layer %1").arg(stage.layer);
}

PatchOverlayFigure overlayLogitLens(const AnalysisResult& result, const LensSubject& subject,
                                    const std::optional<MatrixCell>& cell) {
    const auto& lens = static_cast<const LogitLens&>(result);
    const LogitLens::Stage& stage = cell ? lens.stages[static_cast<size_t>(cell->row)] : lens.stages.back();
    const auto column = static_cast<size_t>(cell ? cell->column : 0);
    if (!subject.isPicture()) return {};
    const auto& layout = subject.patterns[static_cast<size_t>(std::max(stage.layer, 0))].layout;
    if (stage.rows != 1 + layout.tokens) return {};
    PatchOverlayFigure figure = overlayOf(subject, layout, [&](size_t token) {
        return stage.finalProbability[(1 + token) * static_cast<size_t>(lens.finals) + column];
    });
    figure.title =
        LensText::tr("“%1” by patch, after %2").arg(subject.choiceName(lens.final[column]), stageName(stage));
    figure.note = LensText::tr("probability if the classifier reads only that patch");
    return figure;
}

PatchOverlayFigure overlayGradients(const AnalysisResult& result, const LensSubject& subject,
                                    const std::optional<MatrixCell>&) {
    const auto& found = static_cast<const InputAttribution&>(result);
    PatchOverlayFigure figure = subject.axis.overlay(found.integratedGradients);
    figure.isSigned = true;
    figure.opacity = 0.75;
    figure.title = LensText::tr("Integrated gradients");
    figure.note = LensText::tr("positive: raises the %1; negative: lowers it").arg(targetName(subject, found.target));
    return figure;
}

PatchOverlayFigure overlayFlow(const AnalysisResult& result, const LensSubject& subject,
                               const std::optional<MatrixCell>&) {
    const auto& found = static_cast<const Rollout&>(result);
    PatchOverlayFigure figure = overlayOf(subject, found.map.columns, [&](size_t token) { return found.ofRow[token]; });
    figure.title = LensText::tr("Attention rollout");
    return figure;
}

PatchOverlayFigure overlayWeighted(const AnalysisResult& result, const LensSubject& subject,
                                   const std::optional<MatrixCell>& cell) {
    const auto& found = static_cast<const WeightedAttention&>(result);
    const auto query = static_cast<size_t>(cell ? cell->row : 0);
    PatchOverlayFigure figure =
        overlayOf(subject, subject.patterns[static_cast<size_t>(found.site)].layout,
                  [&](size_t token) { return found.normWeighted[query * static_cast<size_t>(found.keys) + token]; });
    figure.title = LensText::tr("Attention weight × length of the value, from %1")
                       .arg(subject.axis.nameOf(static_cast<int>(query)));
    return figure;
}

PatchOverlayFigure overlayCircuits(const AnalysisResult& result, const LensSubject& subject,
                                   const std::optional<MatrixCell>& cell) {
    const auto& found = static_cast<const HeadCircuits&>(result);
    const auto query = static_cast<size_t>(cell ? cell->row : 0);
    if (found.isOfTokens) return {};
    const LayerLayout& layout = subject.patterns.front().layout;
    if (static_cast<size_t>(layout.tokens) != found.tokens.size()) return {};
    PatchOverlayFigure figure =
        overlayOf(subject, layout, [&](size_t token) { return found.scores[query * found.tokens.size() + token]; });
    figure.isSigned = true;
    figure.title = LensText::tr("Score of each patch as a key, for %1 as the query")
                       .arg(subject.axis.nameOf(static_cast<int>(query)));
    return figure;
}

PatchOverlayFigure overlayPatching(const AnalysisResult& result, const LensSubject& subject,
                                   const std::optional<MatrixCell>& cell) {
    const auto& found = static_cast<const PatchSweep&>(result);
    const auto layer = static_cast<size_t>(cell ? cell->row : 0);
    PatchOverlayFigure figure = overlayOf(subject, subject.patterns.front().layout, [&](size_t token) {
        return found.effects[layer * static_cast<size_t>(found.tokens) + token];
    });
    figure.isSigned = true;
    const LayerLayout& layout = subject.patterns[layer].layout;
    if (layout.tokens < found.tokens) figure.tokens = layout.tokenOf;
    figure.title = LensText::tr("Effect of each patch's value before layer %1").arg(layer);
    return figure;
}

} // namespace attn
