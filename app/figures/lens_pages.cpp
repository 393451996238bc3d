#include "app/figures/lens_pages.h"

#include "engine/analysis/attention_rollout.h"
#include "engine/analysis/head_circuits.h"
#include "engine/analysis/input_attribution.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/analysis/logit_lens.h"
#include "engine/analysis/sweeps.h"
#include "engine/analysis/weighted_attention.h"

#include <algorithm>
#include <numeric>

namespace attn {
namespace {

QString formatPercent(float value) { return QStringLiteral("%1 %").arg(static_cast<double>(value) * 100, 0, 'f', 1); }

LensAnswer showLogitLens(const AnalysisResult& result, const LensSubject& subject) {
    const auto& lens = static_cast<const LogitLens&>(result);
    LensAnswer answer{.summary =
                          LensText::tr("Probability that each layer gives to the model's final prediction. Point at a "
                                       "cell to see that layer's own prediction.")};
    answer.matrix.title = LensText::tr("Probability of the final prediction");
    answer.matrix.rowTitle = LensText::tr("after");
    answer.matrix.columnTitle = LensText::tr("token");
    answer.matrix.kind = MatrixFigure::Kind::Weights;
    answer.matrix.setMatrix(static_cast<int>(lens.stages.size()), lens.tokens, lens.finalProbability);
    for (const std::string& stage : lens.stages) answer.matrix.rowLabels.push_back(QString::fromStdString(stage));
    answer.matrix.columnLabels = subject.rowNames(static_cast<size_t>(lens.tokens));
    for (size_t cell = 0; cell < lens.finalRank.size(); ++cell) {
        QStringList says;
        for (size_t choice = 0; choice < static_cast<size_t>(lens.choices); ++choice) {
            const size_t at = cell * static_cast<size_t>(lens.choices) + choice;
            says << QStringLiteral("“%1” %2").arg(subject.choiceName(lens.ids[at]),
                                                  formatPercent(lens.probabilities[at]));
        }
        answer.remarks.push_back(LensText::tr("predicts %1; the final prediction “%2” has rank %3; entropy %4 nats")
                                     .arg(says.join(", "))
                                     .arg(subject.choiceName(lens.final[cell % static_cast<size_t>(lens.tokens)]))
                                     .arg(lens.finalRank[cell] + 1)
                                     .arg(formatFixed(lens.entropy[cell], 2)));
    }
    return answer;
}

LensAnswer showAttribution(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const LogitAttribution&>(result);
    LensAnswer answer = contributionsAnswer(found.components, targetName(subject, found.target));
    answer.summary = LensText::tr("After token %1, the %2 is %3; %4.")
                         .arg(found.position)
                         .arg(targetName(subject, found.target), formatFixed(found.logit, 4), answer.summary);
    return answer;
}

LensAnswer showGradients(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const InputAttribution&>(result);
    const double sum = std::accumulate(found.integratedGradients.begin(), found.integratedGradients.end(), 0.0);
    LensAnswer answer{
        .summary =
            LensText::tr("The %1 after token %2 is %3, and %4 when every embedding is replaced by the vocabulary "
                         "mean. Integrated gradients divide the difference, %5, among the tokens; they sum to %6.")
                .arg(targetName(subject, found.target))
                .arg(found.position)
                .arg(formatFixed(found.logit), formatFixed(found.baselineLogit),
                     QString::number(static_cast<double>(found.logit - found.baselineLogit), 'f', 3),
                     QString::number(sum, 'f', 3))};
    answer.bars.title = LensText::tr("How much each input token mattered");
    answer.bars.placeTitle = LensText::tr("token");
    answer.bars.placeNames = subject.rowNames(found.gradientTimesInput.size());
    answer.bars.lines = {{LensText::tr("gradient × input"), found.gradientTimesInput},
                         {LensText::tr("integrated gradients"), found.integratedGradients}};
    return answer;
}

LensAnswer showFlow(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const Rollout&>(result);
    LensAnswer answer{.summary =
                          LensText::tr("How much of each token reaches token %1 through all layers.").arg(found.row)};
    if (found.flow.empty())
        answer.summary +=
            ' ' + LensText::tr("Attention flow is computed for up to %1 tokens only.").arg(Rollout::kMostFlowing);
    answer.bars.title = LensText::tr("Attention rollout and flow");
    answer.bars.placeTitle = LensText::tr("token");
    answer.bars.placeNames = subject.rowNames(found.ofRow.size());
    answer.bars.lines = {{LensText::tr("rollout"), found.ofRow}};
    if (!found.flow.empty()) answer.bars.lines.push_back({LensText::tr("flow"), found.flow});
    return answer;
}

LensAnswer showWeighted(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const WeightedAttention&>(result);
    LensAnswer answer{.summary =
                          LensText::tr("Layer %1, head %2: each attention weight times the length of the value that it "
                                       "carries. A large weight on a short value has little effect.")
                              .arg(found.site)
                              .arg(found.head)};
    answer.matrix.title = LensText::tr("Attention weight × length of the value after W_O");
    answer.matrix.rowTitle = LensText::tr("query");
    answer.matrix.columnTitle = LensText::tr("key");
    answer.matrix.kind = MatrixFigure::Kind::Weights;
    answer.matrix.setMatrix(found.tokens, found.tokens, found.normWeighted);
    answer.matrix.rowLabels = answer.matrix.columnLabels = subject.rowNames(static_cast<size_t>(found.tokens));
    for (size_t cell = 0; cell < found.pattern.size(); ++cell)
        answer.remarks.push_back(LensText::tr("attention weight %1, length after W_O %2, weight × length of v %3")
                                     .arg(formatFixed(found.pattern[cell]),
                                          formatFixed(found.outputNorms[cell % static_cast<size_t>(found.tokens)]),
                                          formatFixed(found.valueWeighted[cell])));
    return answer;
}

LensAnswer showCircuits(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const HeadCircuits&>(result);
    LensAnswer answer{
        .summary = LensText::tr("Layer %1, head %2, computed from its weight matrices. Copying score %3: 1 raises "
                                "the logit of the token that the head looks at, −1 lowers it.")
                       .arg(found.site)
                       .arg(found.head)
                       .arg(formatFixed(found.copyingScore, 2))};
    answer.columns = {LensText::tr("Token"), LensText::tr("As a query, looks for (QK)"),
                      LensText::tr("As a key, raises (OV)")};
    for (size_t token = 0; token < found.tokens.size(); ++token) {
        const auto list = [&](const HeadCircuits::Pairs& pairs) {
            QStringList names;
            for (size_t choice = 0; choice < static_cast<size_t>(found.choices); ++choice) {
                const size_t at = token * static_cast<size_t>(found.choices) + choice;
                names << QStringLiteral("“%1” %2").arg(subject.choiceName(pairs.ids[at]),
                                                       formatFixed(pairs.values[at], 2));
            }
            return names.join("  ");
        };
        answer.rows.push_back({subject.choiceName(found.tokens[token]), list(found.reads), list(found.writes)});
    }
    return answer;
}

LensAnswer showComposition(const AnalysisResult& result, const LensSubject&) {
    const auto& found = static_cast<const CompositionScores&>(result);
    const int all = found.sites * found.heads;
    LensAnswer answer{
        .summary = LensText::tr("How strongly later heads read from earlier heads, computed from weight matrices: "
                                "the largest of Q-, K- and V-composition.")};
    std::vector<float> largest(static_cast<size_t>(all * all), 0);
    const auto name = [&](int at) { return QStringLiteral("L%1 H%2").arg(at / found.heads).arg(at % found.heads); };
    for (int later = 0; later < all; ++later) {
        answer.matrix.rowLabels.push_back(name(later));
        answer.matrix.columnLabels.push_back(name(later));
        for (int earlier = 0; earlier < all; ++earlier) {
            float scores[3];
            for (int kind = 0; kind < 3; ++kind)
                scores[kind] = found.at(static_cast<CompositionScores::Kind>(kind), later / found.heads,
                                        later % found.heads, earlier / found.heads, earlier % found.heads);
            largest[static_cast<size_t>(later * all + earlier)] = *std::max_element(scores, scores + 3);
            answer.remarks.push_back(LensText::tr("%1 reads from %2: Q %3, K %4, V %5")
                                         .arg(name(later), name(earlier), formatFixed(scores[0]),
                                              formatFixed(scores[1]), formatFixed(scores[2])));
        }
    }
    answer.matrix.title = LensText::tr("Composition of heads");
    answer.matrix.rowTitle = LensText::tr("later head");
    answer.matrix.columnTitle = LensText::tr("earlier head");
    answer.matrix.kind = MatrixFigure::Kind::Weights;
    answer.matrix.labelsAreNumbers = true;
    answer.matrix.setMatrix(all, all, std::move(largest));
    return answer;
}

LensAnswer showAblation(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const AblationSweep&>(result);
    return effectsAnswer(found, targetName(subject, found.target));
}

LensAnswer showPatching(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const PatchSweep&>(result);
    return patchingAnswer(found, targetName(subject, found.target), LensText::tr("the other text"),
                          subject.rowNames(static_cast<size_t>(found.tokens)));
}

template <class T> std::shared_ptr<const Analysis> makePlain(const LensQuestion&) { return std::make_shared<T>(); }
template <class T> std::shared_ptr<const Analysis> makeOfHead(const LensQuestion& question) {
    auto analysis = std::make_shared<T>();
    analysis->site = question.site;
    analysis->head = question.head;
    return analysis;
}
template <class T> std::shared_ptr<const Analysis> makeOfLogit(const LensQuestion& question) {
    auto analysis = std::make_shared<T>();
    analysis->position = question.position;
    analysis->target = question.target;
    return analysis;
}

const LensPage kPages[] = {
    {.id = "logit",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Logit lens"),
     .explanation = QT_TRANSLATE_NOOP("attn::Lens", "The prediction if the model ended after each layer."),
     .make = makePlain<LogitLensAnalysis>,
     .show = showLogitLens},
    {.id = "attribution",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Logit attribution"),
     .explanation = QT_TRANSLATE_NOOP(
         "attn::Lens", "How much each head and MLP adds to a logit. The contributions sum to the logit."),
     .usesPosition = true,
     .usesTarget = true,
     .make = makeOfLogit<LogitAttributionAnalysis>,
     .show = showAttribution},
    {.id = "gradients",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Input gradients"),
     .explanation =
         QT_TRANSLATE_NOOP("attn::Lens", "How much each token mattered: gradient × input, and integrated gradients."),
     .usesPosition = true,
     .usesTarget = true,
     .make = makeOfLogit<InputAttributionAnalysis>,
     .show = showGradients},
    {.id = "flow",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Rollout and flow"),
     .explanation = QT_TRANSLATE_NOOP(
         "attn::Lens", "How tokens mix through the layers, counting half of each layer as the skip connection."),
     .usesPosition = true,
     .make = [](const LensQuestion& question) -> std::shared_ptr<const Analysis> {
         auto analysis = std::make_shared<RolloutAnalysis>();
         analysis->row = question.position;
         analysis->wantsFlow = true;
         return analysis;
     },
     .show = showFlow},
    {.id = "weighted",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Weighted attention"),
     .explanation =
         QT_TRANSLATE_NOOP("attn::Lens", "Attention weights times the length of the values that they carry."),
     .usesHead = true,
     .make = makeOfHead<WeightedAttentionAnalysis>,
     .show = showWeighted},
    {.id = "circuits",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "QK and OV circuits"),
     .explanation = QT_TRANSLATE_NOOP("attn::Lens",
                                      "What a head looks for and what it writes, computed from its weight matrices."),
     .usesHead = true,
     .make = makeOfHead<HeadCircuitsAnalysis>,
     .show = showCircuits},
    {.id = "composition",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Composition"),
     .explanation =
         QT_TRANSLATE_NOOP("attn::Lens", "Which heads read from which, computed from their weight matrices."),
     .isQuick = false,
     .make = makePlain<CompositionScoresAnalysis>,
     .show = showComposition},
    {.id = "ablation",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Effect of each head"),
     .explanation =
         QT_TRANSLATE_NOOP("attn::Lens", "How removing each head or MLP changes the logit after the last token."),
     .usesTarget = true,
     .isQuick = false,
     .make = [](const LensQuestion& question) -> std::shared_ptr<const Analysis> {
         auto analysis = std::make_shared<AblationSweepAnalysis>();
         analysis->target = question.target;
         return analysis;
     },
     .show = showAblation,
     .change = [](const AnalysisResult& result, const LensQuestion&, int row,
                  int column) { return removalOf(static_cast<const AblationSweep&>(result), row, column); }},
    {.id = "patching",
     .title = QT_TRANSLATE_NOOP("attn::Lens", "Activation patching"),
     .explanation = QT_TRANSLATE_NOOP(
         "attn::Lens", "Which layer and token carry the difference from another text of the same length."),
     .usesTarget = true,
     .usesText = true,
     .isQuick = false,
     .make = [](const LensQuestion& question) -> std::shared_ptr<const Analysis> {
         auto analysis = std::make_shared<PatchSweepAnalysis>();
         analysis->target = question.target;
         analysis->text = question.text;
         return analysis;
     },
     .show = showPatching,
     .change = [](const AnalysisResult& result, const LensQuestion& question, int row,
                  int column) { return patchOf(static_cast<const PatchSweep&>(result), row, column, question.text); }},
};

} // namespace

std::span<const LensPage> lensPages() { return kPages; }

} // namespace attn
