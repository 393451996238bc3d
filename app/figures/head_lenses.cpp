#include "app/figures/head_lenses.h"

#include "app/figures/drawing.h"
#include "app/figures/head_label.h"
#include "app/figures/map_figure.h"
#include "app/figures/scale.h"
#include "engine/analysis/head_circuits.h"
#include "engine/analysis/head_kinds.h"
#include "engine/analysis/storage_effects.h"
#include "engine/analysis/token_values.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {

LensAnswer showCircuits(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const HeadCircuits&>(result);
    const auto rowName = [&](int id) { return found.isOfTokens ? subject.tokenName(id) : subject.axis.nameOf(id); };
    const auto choiceName = [&](int id) { return subject.choiceName(id); };
    LensAnswer answer{.summary = LensText::tr("The circuits of %1 are computed from its weight matrices.")
                                     .arg(headLabel(found.site, found.head))};
    if (found.copyingScore) {
        answer.summary += ' ' + LensText::tr("Its copying score is %1. At 1, the head raises the logit of the token "
                                             "that it looks at; at −1, it lowers it. The score is "
                                             "computed from the embeddings alone, without the layers before the head.")
                                    .arg(formatFixed(*found.copyingScore, 2));
    }
    if (!found.isOfTokens) {
        const auto rows = static_cast<int>(found.tokens.size());
        answer.matrix.title = LensText::tr("Score of each key for each query, without positions (QK)");
        answer.matrix.rowTitle = LensText::tr("query");
        answer.matrix.columnTitle = LensText::tr("key");
        answer.matrix.kind = MatrixFigure::Kind::Signed;
        answer.matrix.rowLabels = answer.matrix.columnLabels = subject.rowNames(found.tokens.size());
        answer.matrix.setMatrix(rows, rows, found.scores);
    }
    answer.columns = {found.isOfTokens ? LensText::tr("Token") : LensText::tr("Patch"),
                      LensText::tr("As a query, looks for (QK)")};
    answer.columnHelp = {LensText::tr("A token or patch that the head reads"),
                         LensText::tr("The keys with the highest scores for it as the query, without positions")};
    if (found.writes.choices > 0) {
        answer.columns << LensText::tr("As a key, raises (OV)");
        answer.columnHelp << LensText::tr("The predictions whose logits the head raises most when it looks at it");
    }
    for (size_t token = 0; token < found.tokens.size(); ++token) {
        const auto list = [&](const HeadCircuits::Pairs& pairs, const auto& nameOf) {
            QStringList names;
            for (size_t at = token * pairs.choices; at < (token + 1) * pairs.choices; ++at)
                names << QStringLiteral("“%1” %2").arg(nameOf(pairs.ids[at]),
                                                       formatMeasured(static_cast<double>(pairs.values[at]), 2));
            return names.join("  ");
        };
        QStringList& row = answer.rows.emplace_back();
        row << rowName(found.tokens[token]) << list(found.reads, rowName);
        if (found.writes.choices > 0) row << list(found.writes, choiceName);
    }
    return answer;
}

LensAnswer showComposition(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const CompositionScores&>(result);
    std::vector<std::pair<int, int>> heads; // by layer; layers may have different numbers of them
    for (int site = 0; site < found.sites; ++site)
        for (int head = 0; head < subject.model.site(site).heads; ++head) heads.emplace_back(site, head);
    const int all = static_cast<int>(heads.size());
    LensAnswer answer{
        .summary = LensText::tr("How strongly later heads read from earlier heads, computed from weight matrices: "
                                "the largest of Q-, K- and V-composition. A dash stands where a score is undefined, "
                                "because the earlier head writes nothing or the later one reads nothing.")};
    std::vector<float> largest(static_cast<size_t>(all * all), 0);
    const auto name = [&](int at) {
        return headLabel(heads[static_cast<size_t>(at)].first, heads[static_cast<size_t>(at)].second);
    };
    for (int later = 0; later < all; ++later) {
        answer.matrix.rowLabels.push_back(name(later));
        answer.matrix.columnLabels.push_back(name(later));
        for (int earlier = 0; earlier < all; ++earlier) {
            float scores[3];
            for (int kind = 0; kind < 3; ++kind)
                scores[kind] =
                    found.at(static_cast<CompositionScores::Kind>(kind), heads[static_cast<size_t>(later)].first,
                             heads[static_cast<size_t>(later)].second, heads[static_cast<size_t>(earlier)].first,
                             heads[static_cast<size_t>(earlier)].second);
            // std::fmax() leaves out what is undefined
            largest[static_cast<size_t>(later * all + earlier)] = std::fmax(scores[0], std::fmax(scores[1], scores[2]));
            answer.remarks.push_back(LensText::tr("%1 reads from %2: Q %3, K %4, V %5")
                                         .arg(name(later), name(earlier), formatFixed(scores[0]),
                                              formatFixed(scores[1]), formatFixed(scores[2])));
        }
    }
    answer.matrix.title = LensText::tr("Composition of heads");
    answer.matrix.rowTitle = LensText::tr("later head");
    answer.matrix.columnTitle = LensText::tr("earlier head");
    answer.matrix.kind = MatrixFigure::Kind::Weights;
    answer.matrix.rowsAreNamed = answer.matrix.columnsAreNamed = true;
    answer.matrix.setMatrix(all, all, std::move(largest));
    return answer;
}

LensAnswer showKindsByLayer(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const HeadDetection&>(result);
    LensAnswer answer{.summary = LensText::tr("Compare the head kinds of early and late layers.")};
    std::vector<int> layers;
    for (const HeadScores& head : found.heads)
        if (layers.empty() || layers.back() != head.site) layers.push_back(head.site);
    std::vector<float> values;
    for (size_t kind = 0; kind < found.kinds.size(); ++kind) {
        std::vector<float> sums(layers.size(), 0), heads(layers.size(), 0);
        size_t at = 0;
        for (const HeadScores& head : found.heads) {
            if (layers[at] != head.site) ++at;
            sums[at] += head.scores[kind];
            ++heads[at];
        }
        if (std::ranges::all_of(sums, [](float sum) { return std::isnan(sum); })) continue; // there are no such tokens
        for (size_t layer = 0; layer < layers.size(); ++layer) values.push_back(sums[layer] / heads[layer]);
        answer.matrix.rowLabels.push_back(LensText::tr(found.kinds[kind].title));
    }
    const ModelStructure& structure = subject.model.structure;
    for (const int site : layers)
        answer.matrix.columnLabels.push_back(structure.hasTwoStacks() ? QString::fromStdString(structure.labelOf(site))
                                                                      : LensText::tr("layer %1").arg(site));
    answer.matrix.title = LensText::tr("Mean score of each kind");
    answer.matrix.rowTitle = LensText::tr("kind");
    answer.matrix.columnTitle = LensText::tr("layer");
    answer.matrix.kind = MatrixFigure::Kind::Weights;
    answer.matrix.setMatrix(static_cast<int>(answer.matrix.rowLabels.size()), static_cast<int>(layers.size()),
                            std::move(values));
    return answer;
}

LensAnswer showStorageEffects(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const StorageEffects&>(result);
    const StorageEffects::Effect& original = found.effects.front();
    const bool isPicture = subject.isPicture(), hasClasses = !std::isnan(original.largestChange);
    LensAnswer answer{
        .summary = isPicture
                       ? LensText::tr("With fewer bits for each weight, a model takes less memory, but its weights are "
                                      "rounded.")
                       : LensText::tr("With fewer bits for each weight, a model takes less memory, and a large one "
                                      "writes faster, but its weights are rounded. With f32 weights, the perplexity of "
                                      "this text is %1.")
                             .arg(formatFixed(original.perplexity, 3))};
    answer.summary +=
        ' ' +
        LensText::tr("q4_k can keep only matrices whose rows have a multiple of 256 weights; the others are kept as "
                     "q8_0.");
    if (!hasClasses)
        answer.summary += ' ' + LensText::tr("This model has no classifier, so only its patterns are compared.");
    answer.matrix.title =
        LensText::tr("How far each head's pattern is from that of f32 weights (0: equal, 1: disjoint)");
    answer.matrix.rowTitle = LensText::tr("weights");
    answer.matrix.columnTitle = LensText::tr("head");
    answer.matrix.kind = MatrixFigure::Kind::Weights;
    answer.columns = {LensText::tr("Weights"), LensText::tr("Memory"),
                      isPicture ? LensText::tr("Pictures per second") : LensText::tr("Tokens per second")};
    answer.columnHelp = {
        LensText::tr("How a weight is kept: 32 or 16 bits, or 8 or 4 bits with a scale for each block of weights"),
        LensText::tr("The size of all weights on the device"),
        isPicture ? LensText::tr("The measured speed of reading this picture")
                  : LensText::tr("The measured speed of writing after this text")};
    if (!isPicture) {
        answer.columns << LensText::tr("Perplexity") << LensText::tr("Largest change");
        answer.columnHelp << LensText::tr(
                                 "How many equally likely tokens the model is effectively choosing between, on average")
                          << LensText::tr("The largest change of a probability of the next token, compared with f32");
    } else if (hasClasses) {
        answer.columns << LensText::tr("Classes") << LensText::tr("Largest change");
        answer.columnHelp << LensText::tr(
                                 "How far the probabilities of the classes are from those with f32 weights, in "
                                 "bits: 0 is equal, 1 has nothing in common")
                          << LensText::tr("The largest change of a class's probability, compared with f32");
    }
    std::vector<float> values;
    for (const StorageEffects::Effect& effect : found.effects) {
        const QString name = QString::fromStdString(std::string(storageName(effect.storage)));
        if (!effect.problem.empty()) {
            answer.summary +=
                ' ' + LensText::tr("%1 is not available: %2.").arg(name, QString::fromStdString(effect.problem));
            answer.rows.push_back(QStringList(answer.columns.size(), QStringLiteral("–")));
            answer.rows.back().front() = name;
            continue;
        }
        QStringList row{
            name, LensText::tr("%1 MiB").arg(formatFixed(static_cast<double>(effect.parameterBytes) / (1 << 20), 1)),
            effect.perSecond > 0 ? grouped(std::llround(effect.perSecond)) : LensText::tr("none")};
        if (!isPicture || hasClasses)
            row << (isPicture ? formatFixed(effect.predictionDivergence, 5) : formatFixed(effect.perplexity, 3))
                << formatSaid(static_cast<double>(effect.largestChange), subject.model.activation);
        answer.rows.push_back(row);
        if (&effect == &original) continue;
        answer.matrix.rowLabels.push_back(name);
        for (const std::vector<double>& heads : effect.divergence)
            for (const double bits : heads) values.push_back(static_cast<float>(bits));
    }
    for (size_t site = 0; site < original.divergence.size(); ++site)
        for (size_t head = 0; head < original.divergence[site].size(); ++head)
            answer.matrix.columnLabels.push_back(
                headLabel(subject.model.structure, static_cast<int>(site), static_cast<int>(head)));
    if (!answer.matrix.columnLabels.empty())
        answer.matrix.setMatrix(static_cast<int>(answer.matrix.rowLabels.size()),
                                static_cast<int>(answer.matrix.columnLabels.size()), std::move(values));
    return answer;
}

QString hookTitle(const std::string& hook) {
    static constexpr std::pair<std::string_view, const char*> kTitles[] = {
        {"resid_pre", QT_TRANSLATE_NOOP("attn::Lens", "Residual stream before the layer")},
        {"resid_mid", QT_TRANSLATE_NOOP("attn::Lens", "Residual stream before the MLP")},
        {"resid_mid_cross", QT_TRANSLATE_NOOP("attn::Lens", "Residual stream before the MLP, after cross-attention")},
        {"resid_post", QT_TRANSLATE_NOOP("attn::Lens", "Residual stream after the layer")},
        {"attn_out", QT_TRANSLATE_NOOP("attn::Lens", "What attention adds")},
        {"cross_attn_out", QT_TRANSLATE_NOOP("attn::Lens", "What cross-attention adds")},
        {"mlp_out", QT_TRANSLATE_NOOP("attn::Lens", "What the MLP adds")},
        {"merged", QT_TRANSLATE_NOOP("attn::Lens", "Merged patches")}};
    if (hook == "attn.hook_z") return LensText::tr("Output of the heads"); // of any layer: patching offers it
    const std::string_view name = std::string_view(hook).substr(hook.rfind("hook_") + 5);
    const auto known = std::ranges::find(kTitles, name, &std::pair<std::string_view, const char*>::first);
    if (known != std::end(kTitles)) return LensText::tr(known->second);
    return mapTitle(name == "z" ? "z" : "units." + std::string(name));
}

LensAnswer showTokenValues(const AnalysisResult& result, const LensSubject& subject) {
    const auto& found = static_cast<const TokenValues&>(result);
    const QString title = hookTitle(found.hook),
                  layer = QString::fromStdString(subject.model.structure.blockLabelOf(found.site));
    LensAnswer answer{.summary = subject.isPicture()
                                     ? LensText::tr("%1, %2: a row for each patch, a column for each unit.")
                                     : LensText::tr("%1, %2: a row for each token, a column for each unit.")};
    answer.summary = answer.summary.arg(layer, title);
    answer.matrix.title = QStringLiteral("%1 (%2)").arg(title, QString::fromStdString(found.hook));
    answer.matrix.rowTitle = subject.isPicture() ? LensText::tr("patch") : LensText::tr("token");
    answer.matrix.columnTitle = LensText::tr("unit");
    answer.matrix.numbersAxes = true;
    const bool isGate = found.hook.ends_with("_gate"); // between 0 and 1
    answer.matrix.kind = isGate ? MatrixFigure::Kind::Weights : MatrixFigure::Kind::Signed;
    if (isGate) answer.matrix.leastScale = 1;
    const auto rows = static_cast<size_t>(found.rows);
    answer.matrix.rowLabels = subject.isPicture()
                                  ? subject.rowNames(rows)
                                  : subject.namesAlong(subject.model.site(found.site).queryStream, rows);
    answer.matrix.setMatrix(found.rows, found.units, found.values);
    return answer;
}

} // namespace attn
