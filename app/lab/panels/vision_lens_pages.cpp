#include "app/lab/panels/vision_lens_pages.h"

#include "app/lab/panels/lens_pages.h"
#include "app/lab/widgets/vision_look.h"
#include "engine/analysis/class_attribution.h"
#include "engine/analysis/class_lens.h"
#include "engine/analysis/class_sweeps.h"
#include "engine/analysis/patch_head_kinds.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace attn {
namespace {

constexpr size_t kMostClasses = 12; ///< columns of classes by layer

QString tr(const char* text) { return QCoreApplication::translate("attn::Lens", text); }

QString className(const VisionSnapshot& snapshot, int index) {
    return QString::fromStdString(snapshot.model->labelOf(index));
}

QString targetName(const VisionSnapshot& snapshot, const LogitTarget& target) {
    const QString own = tr("logit of “%1”").arg(className(snapshot, target.token));
    return target.other < 0 ? own : tr("%1 minus that of “%2”").arg(own, className(snapshot, target.other));
}

QString number(float value) { return QString::number(static_cast<double>(value), 'f', 3); }

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
    return stage.layer < 0 ? tr("embedding") : tr("layer %1").arg(stage.layer);
}

LensAnswer showClasses(const VisionAnalysisResult& result, const VisionSnapshot& snapshot) {
    const auto& lens = static_cast<const ClassLens&>(result);
    LensAnswer answer{.summary = tr("The prediction if the model ended after each layer. Point at a cell to see the "
                                    "probability of its class when the classifier reads a single patch.")};
    const std::vector<int> classes = shownClasses(lens);
    std::vector<float> values;
    for (const ClassLens::Stage& stage : lens.stages) {
        answer.matrix.rowLabels.push_back(stageName(stage));
        for (const int index : classes) values.push_back(stage.probabilities[static_cast<size_t>(index)]);
    }
    for (const int index : classes) answer.matrix.columnLabels.push_back(className(snapshot, index));
    answer.matrix.title = tr("Probability of each class");
    answer.matrix.rowTitle = tr("after");
    answer.matrix.columnTitle = tr("class");
    answer.matrix.kind = MatrixFigure::Kind::Weights;
    answer.matrix.setMatrix(static_cast<int>(lens.stages.size()), static_cast<int>(classes.size()), std::move(values));
    return answer;
}

/// An overlay with one number for each token of a layer.
PatchOverlayFigure overlayOf(const VisionSnapshot& snapshot, const LayerLayout& layout, bool isSigned,
                             const std::function<float(size_t token)>& valueOf) {
    PatchOverlayFigure figure;
    figure.isSigned = isSigned;
    const ModelInfo& info = *snapshot.model;
    figure.image = shownPicture(snapshot);
    figure.opacity = 0.75;
    std::vector<float> values;
    for (const int32_t token : layout.tokenOf) values.push_back(valueOf(static_cast<size_t>(token)));
    figure.setValues(static_cast<int>(info.grid.height), static_cast<int>(info.grid.width), std::move(values));
    if (layout.tokens < info.tokens()) figure.tokens = layout.tokenOf;
    return figure;
}

PatchOverlayFigure overlayClasses(const VisionAnalysisResult& result, const VisionSnapshot& snapshot,
                                  const std::optional<MatrixCell>& cell) {
    const auto& lens = static_cast<const ClassLens&>(result);
    const size_t row = cell ? static_cast<size_t>(cell->row) : lens.stages.size() - 1;
    const ClassLens::Stage& stage = lens.stages[row];
    const auto index = static_cast<size_t>(shownClasses(lens)[cell ? static_cast<size_t>(cell->column) : 0]);
    const auto& layout = snapshot.answer->patterns[static_cast<size_t>(std::max(stage.layer, 0))].layout;
    if (stage.byToken.empty() || stage.tokens != layout.tokens) return {};
    PatchOverlayFigure figure = overlayOf(snapshot, layout, false, [&](size_t token) {
        return stage.byToken[token * static_cast<size_t>(lens.classes) + index];
    });
    figure.title = tr("“%1” by patch, after %2").arg(className(snapshot, static_cast<int>(index)), stageName(stage));
    figure.note = tr("probability if the classifier reads only that patch");
    return figure;
}

LensAnswer showContributions(const VisionAnalysisResult& result, const VisionSnapshot& snapshot) {
    const auto& found = static_cast<const ClassAttribution&>(result);
    LensAnswer answer = contributionsAnswer(found.components, targetName(snapshot, found.target));
    answer.summary =
        tr("The %1 is %2; %3.").arg(targetName(snapshot, found.target), number(found.logit), answer.summary);
    return answer;
}

LensAnswer showPatches(const VisionAnalysisResult& result, const VisionSnapshot& snapshot) {
    const auto& found = static_cast<const PatchAttribution&>(result);
    const double sum = std::accumulate(found.integratedGradients.begin(), found.integratedGradients.end(), 0.0);
    LensAnswer answer{
        .summary = tr("The %1 is %2 here and %3 for a picture of the mean colour. Integrated gradients sum to %4.")
                       .arg(targetName(snapshot, found.target), number(found.logit), number(found.baselineLogit))
                       .arg(sum, 0, 'f', 3)};
    answer.bars.title = tr("Effect of each patch");
    answer.bars.placeTitle = tr("patch");
    const auto columns = static_cast<int>(snapshot.model->grid.width);
    for (int patch = 0; patch < static_cast<int>(found.gradientTimesInput.size()); ++patch)
        answer.bars.placeNames.push_back(QStringLiteral("%1, %2").arg(patch / columns).arg(patch % columns));
    answer.bars.lines = {{tr("gradient × input"), found.gradientTimesInput},
                         {tr("integrated gradients"), found.integratedGradients}};
    return answer;
}

PatchOverlayFigure overlayPatches(const VisionAnalysisResult& result, const VisionSnapshot& snapshot,
                                  const std::optional<MatrixCell>&) {
    const auto& found = static_cast<const PatchAttribution&>(result);
    PatchOverlayFigure figure;
    figure.image = shownPicture(snapshot);
    figure.isSigned = true;
    figure.opacity = 0.75;
    figure.setValues(static_cast<int>(snapshot.model->grid.height), static_cast<int>(snapshot.model->grid.width),
                     found.integratedGradients);
    figure.title = tr("Integrated gradients");
    figure.note = tr("positive: raises the %1; negative: lowers it").arg(targetName(snapshot, found.target));
    return figure;
}

LensAnswer showEffects(const VisionAnalysisResult& result, const VisionSnapshot& snapshot) {
    const auto& found = static_cast<const ClassAblation&>(result);
    return effectsAnswer(found, targetName(snapshot, found.target));
}

LensAnswer showPatching(const VisionAnalysisResult& result, const VisionSnapshot& snapshot) {
    const auto& found = static_cast<const ClassPatchSweep&>(result);
    std::vector<QString> tokens;
    for (int token = 0; token < found.tokens; ++token) tokens.push_back(visionTokenName(*snapshot.model, token));
    LensAnswer answer =
        patchingAnswer(found, targetName(snapshot, found.target), tr("the other picture"), std::move(tokens));
    if (snapshot.answer->patterns.back().layout.tokens < found.tokens)
        answer.summary += ' ' + tr("The effect of a token of several patches is shown at each of them.");
    return answer;
}

PatchOverlayFigure overlayPatching(const VisionAnalysisResult& result, const VisionSnapshot& snapshot,
                                   const std::optional<MatrixCell>& cell) {
    const auto& found = static_cast<const ClassPatchSweep&>(result);
    const auto layer = static_cast<size_t>(cell ? cell->row : 0);
    const auto& patterns = snapshot.answer->patterns;
    PatchOverlayFigure figure = overlayOf(snapshot, patterns.front().layout, true, [&](size_t token) {
        return found.effects[layer * static_cast<size_t>(found.tokens) + token];
    });
    if (patterns[layer].layout.tokens < found.tokens) figure.tokens = patterns[layer].layout.tokenOf;
    figure.title = tr("Effect of each patch's value before layer %1").arg(layer);
    return figure;
}

LensAnswer showKinds(const VisionAnalysisResult& result, const VisionSnapshot&) {
    const auto& found = static_cast<const PatchHeadDetection&>(result);
    const auto named = std::ranges::count_if(found.heads, [](const auto& head) { return head.kind().has_value(); });
    return {.summary = tr("%1 of %2 heads have a kind.").arg(named).arg(found.heads.size())};
}

LensAnswer showKindsByLayer(const VisionAnalysisResult& result, const VisionSnapshot&) {
    const auto& found = static_cast<const PatchHeadDetection&>(result);
    LensAnswer answer{.summary = tr("Compare the head kinds of early and late layers.")};
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
        answer.matrix.rowLabels.push_back(tr(textOf(static_cast<PatchHeadKind>(kind)).title));
    }
    for (const int layer : layers) answer.matrix.columnLabels.push_back(tr("layer %1").arg(layer));
    answer.matrix.title = tr("Mean score of each kind");
    answer.matrix.rowTitle = tr("kind");
    answer.matrix.columnTitle = tr("layer");
    answer.matrix.kind = MatrixFigure::Kind::Weights;
    answer.matrix.setMatrix(static_cast<int>(answer.matrix.rowLabels.size()), static_cast<int>(layers.size()),
                            std::move(values));
    return answer;
}

std::shared_ptr<const VisionAnalysis> makeKinds(const LogitTarget&) { return std::make_shared<PatchHeadAnalysis>(); }

const VisionLensPage kPages[] = {
    {.id = "classes",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Classes by layer"),
     .explanation =
         QT_TRANSLATE_NOOP("attn::Lens", "What the classifier predicts from the residual stream after each layer."),
     .make = [](const LogitTarget&) -> std::shared_ptr<const VisionAnalysis> {
         return std::make_shared<ClassLensAnalysis>();
     },
     .show = showClasses,
     .overlay = overlayClasses},
    {.id = "contributions",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Contributions to a class"),
     .explanation = QT_TRANSLATE_NOOP(
         "attn::Lens", "How much each head and MLP adds to the logit of a class. The contributions sum to the logit."),
     .usesTarget = true,
     .make = [](const LogitTarget& target) -> std::shared_ptr<const VisionAnalysis> {
         auto analysis = std::make_shared<ClassAttributionAnalysis>();
         analysis->target = target;
         return analysis;
     },
     .show = showContributions},
    {.id = "patches",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Which patches matter"),
     .explanation =
         QT_TRANSLATE_NOOP("attn::Lens", "Gradients of a class's logit with respect to the pixels of each patch."),
     .usesTarget = true,
     .make = [](const LogitTarget& target) -> std::shared_ptr<const VisionAnalysis> {
         auto analysis = std::make_shared<PatchAttributionAnalysis>();
         analysis->target = target;
         return analysis;
     },
     .show = showPatches,
     .overlay = overlayPatches},
    {.id = "kinds",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Head kinds"),
     .explanation = QT_TRANSLATE_NOOP(
         "attn::Lens",
         "Where patches look in each head, measured on the picture and on the same picture with its patches shuffled."),
     .listsHeads = true,
     .make = makeKinds,
     .show = showKinds},
    {.id = "layer_kinds",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Kinds by layer"),
     .explanation = QT_TRANSLATE_NOOP("attn::Lens", "Where patches look: the mean over the heads of each layer."),
     .make = makeKinds,
     .show = showKindsByLayer},
    {.id = "effects",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Effect of each head"),
     .explanation = QT_TRANSLATE_NOOP("attn::Lens", "How removing each head or MLP changes the logit of a class."),
     .usesTarget = true,
     .isQuick = false,
     .make = [](const LogitTarget& target) -> std::shared_ptr<const VisionAnalysis> {
         auto analysis = std::make_shared<ClassAblationAnalysis>();
         analysis->target = target;
         return analysis;
     },
     .show = showEffects,
     .change = [](const VisionAnalysisResult& result, int row,
                  int column) { return removalOf(static_cast<const ClassAblation&>(result), row, column); }},
    {.id = "patching",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Activation patching"),
     .explanation = QT_TRANSLATE_NOOP(
         "attn::Lens", "Which layer and patch carry the difference from the other picture, chosen under Changes."),
     .usesOther = true,
     .isQuick = false,
     .make = [](const LogitTarget& target) -> std::shared_ptr<const VisionAnalysis> {
         auto analysis = std::make_shared<ClassPatchSweepAnalysis>();
         analysis->target = target;
         return analysis;
     },
     .show = showPatching,
     .overlay = overlayPatching,
     .change =
         [](const VisionAnalysisResult& result, int row, int column) {
             const auto& found = static_cast<const ClassPatchSweep&>(result);
             return patchOf(found, row, found.tokenOf(row, column), "the other picture");
         }},
};

} // namespace

std::span<const VisionLensPage> visionLensPages() { return kPages; }

QString visionTokenName(const ModelInfo& info, int token) {
    const auto before = static_cast<int>(info.prefix.size()), columns = static_cast<int>(info.grid.width);
    if (token < before) return QString::fromStdString(info.prefix[static_cast<size_t>(token)]);
    return tr("patch %1, %2").arg((token - before) / columns).arg((token - before) % columns);
}

} // namespace attn
