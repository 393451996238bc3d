#include "app/figures/vision_lens_pages.h"

#include "engine/analysis/class_lens.h"
#include "engine/analysis/input_attribution.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/analysis/patch_head_kinds.h"
#include "engine/analysis/sweeps.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace attn {
namespace {

constexpr size_t kMostClasses = 12; ///< columns of classes by layer

/// The most probable classes after the last layer: the columns of the matrix.
std::vector<int> shownClasses(const ClassLens& lens) {
    const std::vector<float>& last = lens.stages.back().probabilities;
    std::vector<int> order(last.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(), [&](int index) { return last[static_cast<size_t>(index)]; });
    order.resize(std::min(order.size(), kMostClasses));
    return order;
}

QString stageName(const ClassLens::Stage& stage) {
    return stage.layer < 0 ? LensText::tr("embedding") : LensText::tr("layer %1").arg(stage.layer);
}

LensAnswer showClasses(const AnalysisResult& result, const LensSubject& subject) {
    const auto& lens = static_cast<const ClassLens&>(result);
    LensAnswer answer{.summary =
                          LensText::tr("The prediction if the model ended after each layer. Point at a cell to see the "
                                       "probability of its class when the classifier reads a single patch.")};
    const std::vector<int> classes = shownClasses(lens);
    std::vector<float> values;
    for (const ClassLens::Stage& stage : lens.stages) {
        answer.matrix.rowLabels.push_back(stageName(stage));
        for (const int index : classes) values.push_back(stage.probabilities[static_cast<size_t>(index)]);
    }
    for (const int index : classes) answer.matrix.columnLabels.push_back(subject.choiceName(index));
    answer.matrix.title = LensText::tr("Probability of each class");
    answer.matrix.rowTitle = LensText::tr("after");
    answer.matrix.columnTitle = LensText::tr("class");
    answer.matrix.kind = MatrixFigure::Kind::Weights;
    answer.matrix.setMatrix(static_cast<int>(lens.stages.size()), static_cast<int>(classes.size()), std::move(values));
    return answer;
}

/// An overlay with one number for each token of a layer.
PatchOverlayFigure overlayOf(const LensSubject& subject, const LayerLayout& layout,
                             const std::function<float(size_t token)>& valueOf) {
    std::vector<float> values;
    for (const int32_t token : layout.tokenOf) values.push_back(valueOf(static_cast<size_t>(token)));
    PatchOverlayFigure figure = subject.axis.overlay(std::move(values), &layout);
    figure.opacity = 0.75;
    return figure;
}

PatchOverlayFigure overlayClasses(const AnalysisResult& result, const LensSubject& subject,
                                  const std::optional<MatrixCell>& cell) {
    const auto& lens = static_cast<const ClassLens&>(result);
    const size_t row = cell ? static_cast<size_t>(cell->row) : lens.stages.size() - 1;
    const ClassLens::Stage& stage = lens.stages[row];
    const auto index = static_cast<size_t>(shownClasses(lens)[cell ? static_cast<size_t>(cell->column) : 0]);
    const auto& layout = subject.patterns[static_cast<size_t>(std::max(stage.layer, 0))].layout;
    if (stage.byToken.empty() || stage.tokens != layout.tokens) return {};
    PatchOverlayFigure figure = overlayOf(subject, layout, [&](size_t token) {
        return stage.byToken[token * static_cast<size_t>(lens.classes) + index];
    });
    figure.title =
        LensText::tr("“%1” by patch, after %2").arg(subject.choiceName(static_cast<int>(index)), stageName(stage));
    figure.note = LensText::tr("probability if the classifier reads only that patch");
    return figure;
}

LensAnswer showContributions(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const LogitAttribution&>(result);
    LensAnswer answer = contributionsAnswer(found.components, targetName(subject, found.target));
    answer.summary = LensText::tr("The %1 is %2; %3.")
                         .arg(targetName(subject, found.target), formatFixed(found.logit), answer.summary);
    return answer;
}

LensAnswer showPatches(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const InputAttribution&>(result);
    const double sum = std::accumulate(found.integratedGradients.begin(), found.integratedGradients.end(), 0.0);
    LensAnswer answer{
        .summary =
            LensText::tr("The %1 is %2 here and %3 for a picture of the mean colour. Integrated gradients sum to %4.")
                .arg(targetName(subject, found.target), formatFixed(found.logit), formatFixed(found.baselineLogit))
                .arg(sum, 0, 'f', 3)};
    answer.bars.title = LensText::tr("Effect of each patch");
    answer.bars.placeTitle = LensText::tr("patch");
    const int columns = subject.axis.gridColumns;
    for (int patch = 0; patch < static_cast<int>(found.gradientTimesInput.size()); ++patch)
        answer.bars.placeNames.push_back(QStringLiteral("%1, %2").arg(patch / columns).arg(patch % columns));
    answer.bars.lines = {{LensText::tr("gradient × input"), found.gradientTimesInput},
                         {LensText::tr("integrated gradients"), found.integratedGradients}};
    return answer;
}

PatchOverlayFigure overlayPatches(const AnalysisResult& result, const LensSubject& subject,
                                  const std::optional<MatrixCell>&) {
    const auto& found = static_cast<const InputAttribution&>(result);
    PatchOverlayFigure figure = subject.axis.overlay(found.integratedGradients);
    figure.isSigned = true;
    figure.opacity = 0.75;
    figure.title = LensText::tr("Integrated gradients");
    figure.note = LensText::tr("positive: raises the %1; negative: lowers it").arg(targetName(subject, found.target));
    return figure;
}

LensAnswer showEffects(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const AblationSweep&>(result);
    return effectsAnswer(found, targetName(subject, found.target));
}

LensAnswer showPatching(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const PatchSweep&>(result);
    LensAnswer answer =
        patchingAnswer(found, targetName(subject, found.target), LensText::tr("the other picture"), subject.axis.names);
    if (subject.patterns.back().layout.tokens < found.tokens)
        answer.summary += ' ' + LensText::tr("The effect of a token of several patches is shown at each of them.");
    return answer;
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

LensAnswer showKinds(const AnalysisResult& result, const LensSubject&) {
    const auto& found = static_cast<const PatchHeadDetection&>(result);
    const auto named = std::ranges::count_if(found.heads, [](const auto& head) { return head.kind().has_value(); });
    return {.summary = LensText::tr("%1 of %2 heads have a kind.").arg(named).arg(found.heads.size())};
}

LensAnswer showKindsByLayer(const AnalysisResult& result, const LensSubject&) {
    const auto& found = static_cast<const PatchHeadDetection&>(result);
    LensAnswer answer{.summary = LensText::tr("Compare the head kinds of early and late layers.")};
    std::vector<int> layers;
    for (const PatchHeadScores& head : found.heads)
        if (layers.empty() || layers.back() != head.site) layers.push_back(head.site);
    std::vector<float> values;
    for (size_t kind = 0; kind < kPatchHeadKinds; ++kind) {
        std::vector<float> sums(layers.size(), 0), heads(layers.size(), 0);
        size_t at = 0;
        for (const PatchHeadScores& head : found.heads) {
            if (layers[at] != head.site) ++at;
            sums[at] += head.scores[kind];
            ++heads[at];
        }
        if (std::ranges::all_of(sums, [](float sum) { return std::isnan(sum); })) continue; // there are no such tokens
        for (size_t layer = 0; layer < layers.size(); ++layer) values.push_back(sums[layer] / heads[layer]);
        answer.matrix.rowLabels.push_back(LensText::tr(textOf(static_cast<PatchHeadKind>(kind)).title));
    }
    for (const int layer : layers) answer.matrix.columnLabels.push_back(LensText::tr("layer %1").arg(layer));
    answer.matrix.title = LensText::tr("Mean score of each kind");
    answer.matrix.rowTitle = LensText::tr("kind");
    answer.matrix.columnTitle = LensText::tr("layer");
    answer.matrix.kind = MatrixFigure::Kind::Weights;
    answer.matrix.setMatrix(static_cast<int>(answer.matrix.rowLabels.size()), static_cast<int>(layers.size()),
                            std::move(values));
    return answer;
}

template <class T> std::shared_ptr<const Analysis> makePlain(const LogitTarget&) { return std::make_shared<T>(); }
template <class T> std::shared_ptr<const Analysis> makeOfLogit(const LogitTarget& target) {
    auto analysis = std::make_shared<T>();
    analysis->target = target;
    return analysis;
}

const VisionLensPage kPages[] = {
    {.id = "classes",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Classes by layer"),
     .explanation =
         QT_TRANSLATE_NOOP("attn::Lens", "What the classifier predicts from the residual stream after each layer."),
     .make = makePlain<ClassLensAnalysis>,
     .show = showClasses,
     .overlay = overlayClasses},
    {.id = "contributions",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Contributions to a class"),
     .explanation = QT_TRANSLATE_NOOP(
         "attn::Lens", "How much each head and MLP adds to the logit of a class. The contributions sum to the logit."),
     .usesTarget = true,
     .make = makeOfLogit<LogitAttributionAnalysis>,
     .show = showContributions},
    {.id = "patches",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Which patches matter"),
     .explanation =
         QT_TRANSLATE_NOOP("attn::Lens", "Gradients of a class's logit with respect to the pixels of each patch."),
     .usesTarget = true,
     .make = makeOfLogit<InputAttributionAnalysis>,
     .show = showPatches,
     .overlay = overlayPatches},
    {.id = "kinds",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Head kinds"),
     .explanation = QT_TRANSLATE_NOOP(
         "attn::Lens",
         "Where patches look in each head, measured on the picture and on the same picture with its patches shuffled."),
     .listsHeads = true,
     .make = makePlain<PatchHeadAnalysis>,
     .show = showKinds},
    {.id = "layer_kinds",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Kinds by layer"),
     .explanation = QT_TRANSLATE_NOOP("attn::Lens", "Where patches look: the mean over the heads of each layer."),
     .make = makePlain<PatchHeadAnalysis>,
     .show = showKindsByLayer},
    {.id = "effects",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Effect of each head"),
     .explanation = QT_TRANSLATE_NOOP("attn::Lens", "How removing each head or MLP changes the logit of a class."),
     .usesTarget = true,
     .isQuick = false,
     .make = makeOfLogit<AblationSweepAnalysis>,
     .show = showEffects,
     .change = [](const AnalysisResult& result, int row,
                  int column) { return removalOf(static_cast<const AblationSweep&>(result), row, column); }},
    {.id = "patching",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Activation patching"),
     .explanation = QT_TRANSLATE_NOOP(
         "attn::Lens", "Which layer and patch carry the difference from the other picture, chosen under Changes."),
     .usesOther = true,
     .isQuick = false,
     .make = makeOfLogit<PatchSweepAnalysis>,
     .show = showPatching,
     .overlay = overlayPatching,
     .change =
         [](const AnalysisResult& result, int row, int column) {
             const auto& found = static_cast<const PatchSweep&>(result);
             return patchOf(found, row, found.rowOf(row, column), "the other picture");
         }},
};

} // namespace

std::span<const VisionLensPage> visionLensPages() { return kPages; }

} // namespace attn
