#include "app/figures/lens_pages.h"

#include "app/figures/drawing.h"
#include "app/figures/head_label.h"
#include "app/figures/head_lenses.h"
#include "app/figures/lens_overlays.h"
#include "app/figures/scale.h"
#include "engine/analysis/attention_rollout.h"
#include "engine/analysis/attention_spans.h"
#include "engine/analysis/formed_path.h"
#include "engine/analysis/head_circuits.h"
#include "engine/analysis/head_kinds.h"
#include "engine/analysis/input_attribution.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/analysis/logit_lens.h"
#include "engine/analysis/storage_effects.h"
#include "engine/analysis/sweeps.h"
#include "engine/analysis/token_values.h"
#include "engine/analysis/weighted_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>

namespace attn {
namespace {

/// Bars for the rows that the model reads.
LinesFigure barsByRow(const LensSubject& subject, size_t count) {
    LinesFigure bars;
    bars.placeTitle = subject.isPicture() ? LensText::tr("patch") : LensText::tr("token");
    bars.placeNames = subject.rowNames(count);
    return bars;
}

LensAnswer showLogitLens(const AnalysisResult& result, const LensSubject& subject) {
    const auto& lens = static_cast<const LogitLens&>(result);
    LensAnswer answer{
        .summary = lens.isOfTokens
                       ? LensText::tr(
                             "Probability that each layer gives to the model's final prediction. Each cell names that "
                             "layer's own prediction; point at one to see more.")
                       : LensText::tr("Probability that the classifier gives to each class when it reads that layer.")};
    if (subject.isPicture())
        answer.summary += ' ' + LensText::tr("Point at a cell to see the probability of its class when the classifier "
                                             "reads a single patch.");
    if (subject.model.readsSource)
        answer.summary += ' ' + LensText::tr("A row of the encoder is the prediction if the decoder reads that layer "
                                             "instead of the encoder's last one.");
    if (!lens.isOfTokens && subject.model.activation == ClassActivation::Sigmoid)
        answer.summary += ' ' + LensText::tr("Each label has a probability of its own (sigmoid).");
    answer.matrix.title = lens.isOfTokens ? LensText::tr("Probability of the final prediction")
                                          : LensText::tr("Probability of each class");
    answer.matrix.rowTitle = LensText::tr("after");
    answer.matrix.columnTitle = lens.isOfTokens ? LensText::tr("token") : LensText::tr("class");
    answer.matrix.kind = MatrixFigure::Kind::Weights;
    answer.matrix.rowsAreNamed = answer.matrix.areProbabilities = true;
    answer.matrix.columnsAreNamed = !lens.isOfTokens;
    const size_t columns = lens.final.size();
    if (lens.isOfTokens)
        answer.matrix.columnLabels = subject.namesAlong(-1, columns);
    else
        for (const int index : lens.final) answer.matrix.columnLabels.push_back(subject.choiceName(index));
    std::vector<float> values;
    for (const LogitLens::Stage& stage : lens.stages) {
        answer.matrix.rowLabels.push_back(stageName(stage));
        values.insert(values.end(), stage.finalProbability.begin(),
                      stage.finalProbability.begin() + static_cast<std::ptrdiff_t>(columns));
        for (size_t column = 0; column < columns; ++column) {
            const size_t row = lens.isOfTokens ? column : 0; // all columns of a picture belong to the classifier
            QStringList says;
            for (size_t choice = 0; choice < static_cast<size_t>(lens.choices); ++choice) {
                const size_t at = row * static_cast<size_t>(lens.choices) + choice;
                says << QStringLiteral("“%1” %2").arg(subject.choiceName(stage.ids[at]),
                                                      formatPercent(static_cast<double>(stage.probabilities[at])));
            }
            if (lens.isOfTokens)
                answer.matrix.words.push_back(subject.choiceName(stage.ids[row * static_cast<size_t>(lens.choices)]));
            answer.remarks.push_back(LensText::tr("predicts %1; the final prediction “%2” has rank %3; entropy %4 nats")
                                         .arg(says.join(", "), subject.choiceName(lens.final[row]),
                                              QString::number(stage.finalRank[row] + 1),
                                              formatFixed(stage.entropy[row], 2)));
        }
    }
    answer.matrix.setMatrix(static_cast<int>(lens.stages.size()), static_cast<int>(columns), std::move(values));
    return answer;
}

LensAnswer showFormedPath(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const FormedPath&>(result);
    const auto small = [](float value) { return formatShort(static_cast<double>(value), 3); };
    const bool isNumber = subject.saysNumbers();
    const QString what = isNumber ? LensText::tr("answer") : LensText::tr("logit");
    LensAnswer answer{.summary = LensText::tr("Each %1 of this run differs from that of the formed path by at most %2; "
                                              "the largest is %3. ")
                                     .arg(what, small(found.largestDifference), formatFixed(found.largestLogit, 2))};
    if (!isNumber)
        answer.summary += found.best == found.bestFormed
                              ? LensText::tr("Both predict “%1”.").arg(subject.choiceName(found.best))
                              : LensText::tr("This run predicts “%1”; the formed path predicts “%2”.")
                                    .arg(subject.choiceName(found.best), subject.choiceName(found.bestFormed));
    answer.bars.title =
        isNumber ? LensText::tr("The largest answers") : LensText::tr("Logits of the most probable predictions");
    answer.bars.placeTitle = isNumber                    ? LensText::tr("quantity")
                             : subject.model.classes > 0 ? LensText::tr("class")
                                                         : LensText::tr("token");
    answer.bars.lines = {{LensText::tr("this run"), found.ownLogits},
                         {LensText::tr("formed path"), found.formedLogits}};
    answer.columns = {answer.bars.placeTitle, LensText::tr("%1 of this run").arg(what),
                      LensText::tr("%1 of the formed path").arg(what), LensText::tr("difference")};
    answer.columnHelp = {isNumber ? LensText::tr("One of the quantities that the model estimates")
                                  : LensText::tr("One of the most probable predictions"),
                         LensText::tr("Its %1 as this program computes it, with fused kernels and a cache").arg(what),
                         LensText::tr("Its %1 from whole attention patterns, computed without shortcuts").arg(what),
                         LensText::tr("The first %1 minus the second").arg(what)};
    for (const int id : found.ids) answer.bars.placeNames.push_back(subject.choiceName(id));
    for (size_t at = 0; at < found.ids.size(); ++at)
        answer.rows.push_back({subject.choiceName(found.ids[at]), formatFixed(found.ownLogits[at], 5),
                               formatFixed(found.formedLogits[at], 5),
                               small(found.ownLogits[at] - found.formedLogits[at])});
    return answer;
}

LensAnswer showAttribution(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const LogitAttribution&>(result);
    LensAnswer answer = contributionsAnswer(found.components, targetName(subject, found.target));
    const QString target = targetName(subject, found.target), logit = formatFixed(found.logit, 4);
    answer.summary = subject.model.classes > 0
                         ? LensText::tr("The %1 is %2; %3.").arg(target, logit, answer.summary)
                         : (subject.model.maskToken ? LensText::tr("At token %1, the %2 is %3; %4.")
                                                    : LensText::tr("After token %1, the %2 is %3; %4."))
                               .arg(found.position)
                               .arg(target, logit, answer.summary);
    return answer;
}

LensAnswer showGradients(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const InputAttribution&>(result);
    const double sum = std::accumulate(found.integratedGradients.begin(), found.integratedGradients.end(), 0.0);
    const QString target = targetName(subject, found.target), logit = formatFixed(found.logit),
                  baseline = formatFixed(found.baselineLogit);
    LensAnswer answer{
        .summary =
            subject.isPicture()
                ? LensText::tr("The %1 is %2 here and %3 for a picture of zeros: the mean colour, or black where "
                               "pictures are not normalised. Integrated gradients sum to %4.")
                      .arg(target, logit, baseline, formatNumber(sum, 3))
            : subject.model.classes > 0
                ? LensText::tr("The %1 is %2, and %3 when every embedding is replaced by the vocabulary mean. "
                               "Integrated gradients divide the difference, %4, among the tokens; they sum to %5.")
                      .arg(target, logit, baseline, formatFixed(found.logit - found.baselineLogit),
                           formatNumber(sum, 3))
                : LensText::tr("The %1 %2 token %3 is %4, and %5 when every embedding is replaced by the "
                               "vocabulary mean. Integrated gradients divide the difference, %6, among the "
                               "tokens; they sum to %7.")
                      .arg(target, subject.model.maskToken ? LensText::tr("at") : LensText::tr("after"),
                           QString::number(found.position), logit, baseline,
                           formatFixed(found.logit - found.baselineLogit), formatNumber(sum, 3))};
    answer.bars = barsByRow(subject, found.gradientTimesInput.size());
    answer.bars.title =
        subject.isPicture() ? LensText::tr("Effect of each patch") : LensText::tr("How much each input token mattered");
    answer.bars.lines = {{LensText::tr("gradient × input"), found.gradientTimesInput},
                         {LensText::tr("integrated gradients"), found.integratedGradients}};
    return answer;
}

LensAnswer showFlow(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const Rollout&>(result);
    LensAnswer answer{
        .summary = subject.isPicture()
                       ? LensText::tr("How much of each patch reaches what the classifier reads through all layers.")
                       : LensText::tr("How much of each token reaches token %1 through all layers.").arg(found.row)};
    if (found.flow.empty())
        answer.summary +=
            ' ' + LensText::tr("Attention flow is computed for up to %1 tokens only.").arg(Rollout::kMostFlowing);
    answer.bars = barsByRow(subject, found.ofRow.size());
    answer.bars.title = LensText::tr("Attention rollout and flow");
    answer.bars.lines = {{LensText::tr("rollout"), found.ofRow}};
    if (!found.flow.empty()) answer.bars.lines.push_back({LensText::tr("flow"), found.flow});
    return answer;
}

LensAnswer showWeighted(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const WeightedAttention&>(result);
    LensAnswer answer{.summary = LensText::tr("%1: each attention weight times the length of the value that it "
                                              "carries. A large weight on a short value has little effect.")
                                     .arg(headLabel(subject.model.structure, found.site, found.head))};
    answer.matrix.title = LensText::tr("Attention weight × length of the value after W_O");
    answer.matrix.rowTitle = LensText::tr("query");
    answer.matrix.columnTitle = LensText::tr("key");
    answer.matrix.kind = MatrixFigure::Kind::Weights;
    const Site& site = subject.model.site(found.site);
    const bool isCross = site.queryStream != site.keyStream;
    answer.matrix.setMatrix(found.queries, found.keys,
                            subject.isPicture() || isCross ? found.normWeighted
                                                           : visibleWeights(found.normWeighted, found.queries));
    answer.matrix.rowLabels = subject.namesAlong(site.queryStream, static_cast<size_t>(found.queries));
    answer.matrix.columnLabels = subject.namesAlong(site.keyStream, static_cast<size_t>(found.keys));
    for (size_t cell = 0; cell < found.pattern.size(); ++cell)
        answer.remarks.push_back(LensText::tr("attention weight %1, length after W_O %2, weight × length of v %3")
                                     .arg(formatFixed(found.pattern[cell]),
                                          formatFixed(found.outputNorms[cell % static_cast<size_t>(found.keys)]),
                                          formatFixed(found.valueWeighted[cell])));
    return answer;
}

LensAnswer showAblation(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const AblationSweep&>(result);
    return effectsAnswer(found, subject.model.structure, targetName(subject, found.target));
}

/// How a sentence calls the input that values are copied from.
QString otherName(const LensSubject& subject) {
    return subject.model.readsSource ? LensText::tr("the other source")
           : subject.isPicture()     ? LensText::tr("the other picture")
                                     : LensText::tr("the other text");
}

LensAnswer showHeadPatching(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const HeadPatchSweep&>(result);
    return headPatchingAnswer(found, subject.model.structure, targetName(subject, found.target), otherName(subject));
}

LensAnswer showPatching(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const PatchSweep&>(result);
    LensAnswer answer = patchingAnswer(found, subject.model.structure, targetName(subject, found.target),
                                       otherName(subject), subject.rowNames(static_cast<size_t>(found.tokens)));
    for (const auto& [token, other] : found.otherTokens)
        if (QString& name = answer.matrix.columnLabels.at(static_cast<size_t>(token)); !name.isEmpty())
            name = pairLabel(name, subject.tokenName(other));
    if (!subject.patterns.empty() && subject.patterns.back().layout.tokens < found.tokens)
        answer.summary += ' ' + LensText::tr("The effect of a token of several patches is shown at each of them.");
    return answer;
}

/// Hooks of every layer of a model that patching offers, in the order of a layer.
std::vector<std::string> patchedHooks(const ModelInfo& model, int) {
    std::vector<std::string> hooks;
    for (const char* hook : {"hook_resid_pre", "attn.hook_z", "hook_attn_out", "hook_mlp_out"})
        if (std::ranges::all_of(model.structure.firstSites(), [&](int site) {
                return std::ranges::find(model.hooks, model.site(site).inBlock(hook)) != model.hooks.end();
            }))
            hooks.push_back(hook);
    return hooks;
}

LensAnswer showSpans(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const AttentionSpans&>(result);
    const bool isDynamic = std::ranges::any_of(found.sites, &AttentionSpans::OfSite::isDynamic);
    LensAnswer answer{.summary = isDynamic
                                     ? LensText::tr("How many tokens back each head looks. Each token decides its own "
                                                    "span, so the bars show means.")
                                     : LensText::tr("How many tokens back each head has learned to look.")};
    answer.bars.title =
        isDynamic ? LensText::tr("Mean span of each head, in tokens") : LensText::tr("Span of each head, in tokens");
    answer.bars.placeTitle = LensText::tr("head");
    answer.bars.isBars = true;
    answer.bars.lines = {{LensText::tr("tokens"), {}}};
    answer.columns = {LensText::tr("Head"), isDynamic ? LensText::tr("Mean span") : LensText::tr("Span"),
                      LensText::tr("Longest span")};
    answer.columnHelp = {LensText::tr("The layer and the head"), LensText::tr("How many tokens back the head looks"),
                         LensText::tr("The largest span that the head can learn")};
    std::vector<float> values;
    const int queries = found.sites.front().queries;
    for (const AttentionSpans::OfSite& of : found.sites)
        for (int head = 0; head < of.heads; ++head) {
            const QString name = headLabel(subject.model.structure, of.site, head);
            answer.bars.placeNames.push_back(name);
            answer.bars.lines.front().values.push_back(of.mean(head));
            answer.rows.push_back({name, formatFixed(of.mean(head), 2), formatNumber(of.longest, 0)});
            if (of.queries != queries) continue; // belongs to another stream
            answer.matrix.rowLabels.push_back(name);
            const auto begin = of.tokens.begin() + static_cast<std::ptrdiff_t>(head) * queries;
            values.insert(values.end(), begin, begin + queries);
        }
    if (!isDynamic) return answer;
    answer.matrix.title = LensText::tr("Span of each token, in tokens");
    answer.matrix.rowTitle = LensText::tr("head");
    answer.matrix.columnTitle = subject.isPicture() ? LensText::tr("patch") : LensText::tr("token");
    answer.matrix.columnLabels =
        subject.namesAlong(subject.model.site(found.sites.front().site).queryStream, static_cast<size_t>(queries));
    answer.matrix.kind = MatrixFigure::Kind::Weights;
    answer.matrix.setMatrix(static_cast<int>(answer.matrix.rowLabels.size()), queries, std::move(values));
    return answer;
}

/// Makes an analysis with those parts of the question that it uses.
template <class T> std::shared_ptr<const Analysis> make(const LensQuestion& question) {
    auto analysis = std::make_shared<T>();
    if constexpr (requires { analysis->site; }) analysis->site = question.site;
    if constexpr (requires { analysis->head; }) analysis->head = question.head;
    if constexpr (requires { analysis->position; }) analysis->position = question.position;
    if constexpr (requires { analysis->target; }) analysis->target = question.target;
    if constexpr (requires { analysis->text; }) analysis->text = question.text;
    if constexpr (std::is_same_v<T, TokenValuesAnalysis> || std::is_same_v<T, PatchSweepAnalysis>)
        if (!question.hook.empty()) analysis->hook = question.hook;
    return analysis;
}

/// The lenses, in the translation context of their texts.
struct Lenses {
    Q_DECLARE_TR_FUNCTIONS(attn::Lens)

public:
    static inline const LensPage kAll[] = {
        {.id = "logit",
         .title = QT_TR_NOOP("Logit lens"),
         .explanation = QT_TR_NOOP("Shows what the model would predict if it ended after each layer."),
         .make = make<LogitLensAnalysis>,
         .show = showLogitLens,
         .overlay = overlayLogitLens},
        {.id = "attribution",
         .title = QT_TR_NOOP("Logit attribution"),
         .explanation = QT_TR_NOOP("How much each head and MLP adds to a logit, or to the number of a regression. The "
                                   "contributions sum to it."),
         .usesPosition = true,
         .usesTarget = true,
         .make = make<LogitAttributionAnalysis>,
         .show = showAttribution},
        {.id = "gradients",
         .title = QT_TR_NOOP("Input gradients"),
         .explanation =
             QT_TR_NOOP("How much each token or patch mattered: gradient × input, and integrated gradients."),
         .usesPosition = true,
         .usesTarget = true,
         .make = make<InputAttributionAnalysis>,
         .show = showGradients,
         .overlay = overlayGradients},
        {.id = "flow",
         .title = QT_TR_NOOP("Rollout and flow"),
         .explanation = QT_TR_NOOP("How tokens or patches mix through the layers, counting half of "
                                   "each layer as the skip connection."),
         .usesPosition = true,
         .make = [](const LensQuestion& question) -> std::shared_ptr<const Analysis> {
             auto analysis = std::make_shared<RolloutAnalysis>();
             analysis->row = question.position;
             analysis->wantsFlow = true;
             return analysis;
         },
         .show = showFlow,
         .overlay = overlayFlow},
        {.id = "weighted",
         .title = QT_TR_NOOP("Weighted attention"),
         .explanation = QT_TR_NOOP("Attention weights times the length of the values that they carry."),
         .usesHead = true,
         .make = make<WeightedAttentionAnalysis>,
         .show = showWeighted,
         .overlay = overlayWeighted},
        {.id = "values",
         .title = QT_TR_NOOP("Values by token"),
         .explanation = QT_TR_NOOP("The numbers of each unit of a layer at each token: the state and the gates of a "
                                   "recurrent layer, and the residual stream of any layer."),
         .usesHead = true,
         .make = make<TokenValuesAnalysis>,
         .hooks = tokenHooks,
         .show = showTokenValues},
        {.id = "circuits",
         .title = QT_TR_NOOP("QK and OV circuits"),
         .explanation = QT_TR_NOOP("What a head looks for and what it writes, computed from its weight matrices."),
         .usesHead = true,
         .make = make<HeadCircuitsAnalysis>,
         .show = showCircuits,
         .overlay = overlayCircuits},
        {.id = "spans",
         .title = QT_TR_NOOP("Attention spans"),
         .explanation = QT_TR_NOOP("How far each head has learned to look, in models with adaptive or dynamic span."),
         .make = make<AttentionSpansAnalysis>,
         .show = showSpans},
        {.id = "composition",
         .title = QT_TR_NOOP("Composition"),
         .explanation = QT_TR_NOOP("Which heads read from which, computed from their weight matrices."),
         .isQuick = false,
         .make = make<CompositionScoresAnalysis>,
         .show = showComposition},
        {.id = "formed",
         .title = QT_TR_NOOP("Formed path"),
         .explanation = QT_TR_NOOP("Compares this run with one that computes whole attention patterns, "
                                   "without shortcuts such as fused kernels and caches."),
         .make = make<FormedPathAnalysis>,
         .show = showFormedPath},
        {.id = "storage",
         .title = QT_TR_NOOP("Weights in fewer bits"),
         .explanation =
             QT_TR_NOOP("Opens the model with its weights kept in 16, 8 and 4 bits, and compares the memory, the "
                        "speed, the predictions and the pattern of each head."),
         .isQuick = false,
         .make = make<StorageEffectsAnalysis>,
         .show = showStorageEffects},
        {.id = "layer_kinds",
         .title = QT_TR_NOOP("Kinds by layer"),
         .explanation = QT_TR_NOOP("Where heads look: the mean over the heads of each layer."),
         .make = make<HeadDetectionAnalysis>,
         .show = showKindsByLayer},
        {.id = "ablation",
         .title = QT_TR_NOOP("Effect of each head"),
         .explanation = QT_TR_NOOP(
             "How removing each head or MLP changes the logit of the prediction, or the number of a regression."),
         .usesTarget = true,
         .isQuick = false,
         .make = make<AblationSweepAnalysis>,
         .show = showAblation,
         .change =
             [](const AnalysisResult& result, const LensQuestion&, const ModelStructure& structure, int row,
                int column) { return removalOf(static_cast<const AblationSweep&>(result), structure, row, column); }},
        {.id = "head_patching",
         .title = QT_TR_NOOP("Patching of heads"),
         .explanation = QT_TR_NOOP(
             "Copy what one head computes from a second text of the same length, or from the other picture of the "
             "Changes panel, at all tokens. Which head carries the difference?"),
         .usesTarget = true,
         .usesOther = true,
         .isQuick = false,
         .make = make<HeadPatchAnalysis>,
         .show = showHeadPatching,
         .change = [](const AnalysisResult&, const LensQuestion& question, const ModelStructure& structure, int row,
                      int column) { return patchOf(structure, row, column, question.text); }},
        {.id = "patching",
         .title = QT_TR_NOOP("Activation patching"),
         .explanation = QT_TR_NOOP(
             "Copy what a layer computes from a second text of the same length, or from the other picture of the "
             "Changes panel, one place at a time. Which place carries the difference?"),
         .usesTarget = true,
         .usesOther = true,
         .isQuick = false,
         .make = make<PatchSweepAnalysis>,
         .hooks = patchedHooks,
         .show = showPatching,
         .overlay = overlayPatching,
         .change =
             [](const AnalysisResult& result, const LensQuestion& question, const ModelStructure& structure, int row,
                int column) {
                 const auto& found = static_cast<const PatchSweep&>(result);
                 return patchOf(found, structure, row, found.rowOf(row, column), question.text);
             }},
    };
};

/// Ids of lenses of pictures in sessions and commands of earlier versions.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kFormerIds{
    {{"classes", "logit"}, {"contributions", "attribution"}, {"patches", "gradients"}, {"effects", "ablation"}}};

} // namespace

std::span<const LensPage> lensPages() { return Lenses::kAll; }

const LensPage* lensPageNamed(std::string_view id) {
    for (const auto& [former, now] : kFormerIds)
        if (id == former) id = now;
    const auto found = std::ranges::find(Lenses::kAll, id, &LensPage::id);
    return found == std::end(Lenses::kAll) ? nullptr : found;
}

} // namespace attn
