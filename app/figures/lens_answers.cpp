#include "app/figures/lens_answers.h"

#include "app/figures/token_label.h"
#include "engine/models/hook_names.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace attn {

QString LensSubject::choiceName(int index) const {
    const bool areClasses =
        !model.structure.readouts.empty() && model.structure.readouts.front().kind == Readout::Kind::Class;
    if (areClasses) return QString::fromStdString(model.labelOf(index));
    const auto at = static_cast<size_t>(index);
    return at < model.tokenTexts.size() ? visibleText(QString::fromStdString(model.tokenTexts[at]))
                                        : QStringLiteral("#%1").arg(index);
}

std::vector<QString> LensSubject::rowNames(size_t count) const {
    std::vector<QString> names = axis.names;
    if (isPicture() && count == static_cast<size_t>(axis.gridRows * axis.gridColumns))
        names.erase(names.begin(), names.begin() + axis.firstPatch());
    names.resize(count);
    return names;
}

QString targetName(const LensSubject& subject, const LogitTarget& target) {
    const QString own = LensText::tr("logit of “%1”").arg(subject.choiceName(target.token));
    return target.other < 0 ? own : LensText::tr("%1 minus that of “%2”").arg(own, subject.choiceName(target.other));
}

QString formatFixed(float value, int digits) { return QString::number(static_cast<double>(value), 'f', digits); }

LensAnswer contributionsAnswer(std::span<const LogitAttribution::Component> components, const QString& target) {
    double sum = 0;
    LinesFigure::Line line{LensText::tr("contribution"), {}};
    LensAnswer answer;
    answer.columns = {LensText::tr("Part"), LensText::tr("Contribution")};
    std::vector<size_t> order(components.size());
    std::iota(order.begin(), order.end(), 0);
    for (const auto& component : components) {
        sum += static_cast<double>(component.value);
        line.values.push_back(component.value);
        answer.bars.placeNames.push_back(QString::fromStdString(component.name()));
    }
    std::ranges::stable_sort(order, std::greater(), [&](size_t at) { return std::abs(components[at].value); });
    for (size_t at : order)
        answer.rows.push_back({QString::fromStdString(components[at].name()), formatFixed(components[at].value, 4)});
    answer.bars.title = LensText::tr("Contribution of each part to the %1").arg(target);
    answer.bars.placeTitle = LensText::tr("part");
    answer.bars.isBars = true;
    answer.bars.lines.push_back(std::move(line));
    answer.summary = LensText::tr("the contributions sum to %1").arg(sum, 0, 'f', 4);
    return answer;
}

LensAnswer effectsAnswer(const HeadEffects& effects, const QString& target) {
    LensAnswer answer{
        .summary =
            LensText::tr("The %1 is %2. Each cell shows by how much it changes when that head or MLP is removed.")
                .arg(target, formatFixed(effects.whole))};
    const auto heads = static_cast<size_t>(effects.heads);
    std::vector<float> values;
    for (int layer = 0; layer < effects.layers; ++layer) {
        answer.matrix.rowLabels.push_back(LensText::tr("layer %1").arg(layer));
        const auto row = std::span(effects.headEffects).subspan(static_cast<size_t>(layer) * heads, heads);
        values.insert(values.end(), row.begin(), row.end());
        if (!effects.mlpEffects.empty()) values.push_back(effects.mlpEffects[static_cast<size_t>(layer)]);
    }
    for (int head = 0; head < effects.heads; ++head) answer.matrix.columnLabels.push_back(QString::number(head));
    if (!effects.mlpEffects.empty()) answer.matrix.columnLabels.push_back(LensText::tr("MLP"));
    answer.matrix.title = LensText::tr("Effect of removing each head or MLP");
    answer.matrix.rowTitle = LensText::tr("layer");
    answer.matrix.columnTitle = LensText::tr("head");
    answer.matrix.labelsAreNumbers = true;
    answer.matrix.setMatrix(effects.layers, static_cast<int>(answer.matrix.columnLabels.size()), std::move(values));
    return answer;
}

Intervention removalOf(const HeadEffects& effects, int layer, int column) {
    const bool isHead = column < effects.heads;
    return {.hook = isHead ? attentionHook(layer, "z") : inBlock(layer, "hook_mlp_out"), .head = isHead ? column : -1};
}

LensAnswer patchingAnswer(const PatchEffects& effects, const QString& target, const QString& source,
                          std::vector<QString> tokens) {
    LensAnswer answer{
        .summary = LensText::tr("The %1 is %2 here and %3 in %4. Each cell shows the share of this gap that closes "
                                "when the residual stream there is patched from %4.")
                       .arg(target, formatFixed(effects.own), formatFixed(effects.other), source)};
    answer.matrix.title = LensText::tr("Share of the gap closed");
    answer.matrix.rowTitle = LensText::tr("before layer");
    answer.matrix.columnTitle = LensText::tr("token");
    answer.matrix.setMatrix(effects.layers, effects.tokens, effects.effects);
    for (int layer = 0; layer < effects.layers; ++layer)
        answer.matrix.rowLabels.push_back(LensText::tr("layer %1").arg(layer));
    answer.matrix.columnLabels = std::move(tokens);
    for (const float logit : effects.logits) answer.remarks.push_back(LensText::tr("logit %1").arg(formatFixed(logit)));
    return answer;
}

Intervention patchOf(const PatchEffects& effects, int layer, int position, const std::string& source) {
    return {
        .kind = Intervention::Kind::Patch, .hook = inBlock(layer, effects.hook), .position = position, .text = source};
}

} // namespace attn
