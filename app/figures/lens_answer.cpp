#include "app/figures/lens_answer.h"

#include "app/figures/drawing.h"
#include "app/figures/head_label.h"
#include "app/figures/head_lenses.h"
#include "app/figures/token_label.h"

#include <QCoreApplication>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace attn {
namespace {

struct LensChangeText {
    Q_DECLARE_TR_FUNCTIONS(attn::LensChange)
};

QString both(const QString& after, const QString& before) {
    return after == before ? after : LensChangeText::tr("Changed: %1 Original: %2").arg(after, before);
}

void subtract(MatrixFigure& matrix, const MatrixFigure& before) {
    if (matrix.isEmpty() || matrix.rows() != before.rows() || matrix.columns() != before.columns()) return;
    std::vector<float> values;
    for (int row = 0; row < matrix.rows(); ++row)
        for (int column = 0; column < matrix.columns(); ++column)
            values.push_back(matrix.valueAt({row, column}) - before.valueAt({row, column}));
    matrix.kind = MatrixFigure::Kind::Signed;
    matrix.title = LensChangeText::tr("%1: changed − original").arg(matrix.title);
    matrix.areProbabilities = false; // they are percentage points
    matrix.setMatrix(matrix.rows(), matrix.columns(), std::move(values));
}

void subtract(LinesFigure& bars, const LinesFigure& before) {
    if (bars.placeNames != before.placeNames) bars.lines.clear(); // the places differ
    std::vector<LinesFigure::Line> changes;
    for (LinesFigure::Line line : bars.lines) {
        const auto other = std::ranges::find(before.lines, line.label, &LinesFigure::Line::label);
        if (other == before.lines.end() || other->values.size() != line.values.size()) continue;
        for (size_t i = 0; i < line.values.size(); ++i) line.values[i] -= other->values[i];
        changes.push_back(std::move(line));
    }
    if (changes.empty()) return;
    bars.title = LensChangeText::tr("%1: changed − original").arg(bars.title);
    bars.lines = std::move(changes);
}

/// Joins two tables of names and numbers: each row gets both numbers and their difference.
void join(LensAnswer& answer, const LensAnswer& before) {
    if (answer.columns.size() != 2 || answer.columns != before.columns) return;
    const QString number = answer.columns[1];
    answer.columns = {answer.columns[0], LensChangeText::tr("%1 (changed)").arg(number), LensChangeText::tr("Original"),
                      LensChangeText::tr("Difference")};
    const auto help = [&](qsizetype column) { return answer.columnHelp.value(column); };
    answer.columnHelp = {help(0), help(1), LensChangeText::tr("The same number in the run without changes"),
                         LensChangeText::tr("Changed minus original")};
    for (QStringList& row : answer.rows) {
        const auto other =
            std::ranges::find_if(before.rows, [&](const QStringList& each) { return each[0] == row[0]; });
        const QString earlier = other == before.rows.end() ? QStringLiteral("–") : (*other)[1];
        const auto now = readNumber(row[1]), then = readNumber(earlier);
        row << earlier << (now && then ? formatNumber(*now - *then, 4) : QStringLiteral("–"));
    }
}

} // namespace

std::vector<const Figure*> LensFigure::parts() const {
    std::vector<const Figure*> parts;
    if (!overlay.isEmpty()) parts.push_back(&overlay);
    if (!answer.matrix.isEmpty()) parts.push_back(&answer.matrix);
    if (!answer.bars.isEmpty()) parts.push_back(&answer.bars);
    return parts;
}

void LensFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    const std::vector<const Figure*> all = parts();
    if (all.empty()) painter.fillRect(area, theme.background);
    const double height = area.height() / static_cast<double>(std::max<size_t>(all.size(), 1));
    for (size_t i = 0; i < all.size(); ++i)
        all[i]->paint(painter, {area.left(), area.top() + static_cast<double>(i) * height, area.width(), height},
                      theme);
}

bool LensFigure::hasNumbers() const { return !parts().empty() || !answer.rows.empty(); }

QString LensFigure::csv() const {
    if (!answer.matrix.isEmpty()) return answer.matrix.csv();
    if (!answer.bars.isEmpty()) return answer.bars.csv();
    if (answer.rows.empty()) return overlay.csv();
    QString text = answer.columns.join(',') + '\n';
    for (const QStringList& row : answer.rows) {
        QStringList cells;
        for (const QString& cell : row) cells << csvCell(cell);
        text += cells.join(',') + '\n';
    }
    return text;
}

std::vector<NumberArray> LensFigure::numbers() const {
    std::vector<NumberArray> all = answer.matrix.isEmpty() ? answer.bars.numbers() : answer.matrix.numbers();
    for (NumberArray& array : overlay.numbers())
        all.push_back({.name = "overlay", .shape = array.shape, .values = std::move(array.values)});
    return all;
}

LensAnswer changeOf(const LensAnswer& after, const LensAnswer& before) {
    LensAnswer answer = after;
    answer.summary = both(after.summary, before.summary);
    if (after.remarks.size() == before.remarks.size())
        for (size_t cell = 0; cell < answer.remarks.size(); ++cell)
            answer.remarks[cell] =
                after.remarks[cell] == before.remarks[cell]
                    ? after.remarks[cell]
                    : LensChangeText::tr("changed: %1; original: %2").arg(after.remarks[cell], before.remarks[cell]);
    subtract(answer.matrix, before.matrix);
    subtract(answer.bars, before.bars);
    join(answer, before);
    return answer;
}

PatchOverlayFigure changeOf(const PatchOverlayFigure& after, const PatchOverlayFigure& before) {
    if (after.values().size() != before.values().size()) return after;
    PatchOverlayFigure change = after;
    std::vector<float> values = after.values();
    for (size_t patch = 0; patch < values.size(); ++patch) values[patch] -= before.values()[patch];
    change.isSigned = true;
    change.setValues(after.rows(), after.columns(), std::move(values));
    return change;
}

QString LensSubject::choiceName(int index) const {
    return model.classes > 0 ? visibleText(QString::fromStdString(model.labelOf(index))) : tokenName(index);
}

QString LensSubject::tokenName(int id) const {
    const auto at = static_cast<size_t>(id);
    return at < model.tokenTexts.size() ? visibleText(QString::fromStdString(model.tokenTexts[at]))
                                        : QStringLiteral("#%1").arg(id);
}

std::vector<QString> LensSubject::rowNames(size_t count) const {
    std::vector<QString> names = axis.names;
    if (isPicture() && count == static_cast<size_t>(axis.gridRows * axis.gridColumns))
        names.erase(names.begin(), names.begin() + axis.firstPatch());
    names.resize(count);
    return names;
}

std::vector<QString> LensSubject::namesAlong(int stream, size_t count) const {
    const bool isOfSource = model.readsSource && stream == 0;
    const size_t first = isOfSource ? 0 : sourceRows;
    std::vector<QString> names(axis.names.begin() + static_cast<std::ptrdiff_t>(std::min(first, axis.names.size())),
                               axis.names.end());
    names.resize(count);
    return names;
}

bool LensSubject::saysNumbers() const { return model.classes > 0 && model.activation == ClassActivation::None; }

QString targetName(const LensSubject& subject, const LogitTarget& target) {
    const bool isNumber = subject.saysNumbers();
    const QString own = (isNumber ? LensText::tr("answer for “%1”") : LensText::tr("logit of “%1”"))
                            .arg(subject.choiceName(target.token));
    if (target.other < 0) return own;
    return (isNumber ? LensText::tr("%1 minus that for “%2”") : LensText::tr("%1 minus that of “%2”"))
        .arg(own, subject.choiceName(target.other));
}

QString formatFixed(float value, int digits) { return formatNumber(static_cast<double>(value), digits); }

LensAnswer contributionsAnswer(std::span<const LogitAttribution::Component> components, const QString& target) {
    double sum = 0;
    LinesFigure::Line line{LensText::tr("contribution"), {}};
    LensAnswer answer;
    answer.columns = {LensText::tr("Part"), LensText::tr("Contribution")};
    answer.columnHelp = {
        LensText::tr("A part of the model that adds to the residual stream: the embedding, a head, an MLP or a bias"),
        LensText::tr("How much it adds to the %1; negative numbers lower it").arg(target)};
    std::vector<size_t> order(components.size());
    std::iota(order.begin(), order.end(), 0);
    for (const auto& component : components) {
        sum += static_cast<double>(component.value);
        line.values.push_back(component.value);
        answer.bars.placeNames.push_back(QString::fromStdString(component.name));
    }
    std::ranges::stable_sort(order, std::greater(), [&](size_t at) { return std::abs(components[at].value); });
    for (size_t at : order)
        answer.rows.push_back({QString::fromStdString(components[at].name), formatFixed(components[at].value, 4)});
    answer.bars.title = LensText::tr("Contribution of each part to the %1").arg(target);
    answer.bars.placeTitle = LensText::tr("part");
    answer.bars.isBars = true;
    answer.bars.lines.push_back(std::move(line));
    answer.summary = LensText::tr("the contributions sum to %1").arg(formatNumber(sum, 4));
    return answer;
}

LensAnswer effectsAnswer(const HeadEffects& effects, const ModelStructure& structure, const QString& target) {
    LensAnswer answer{
        .summary =
            LensText::tr("The %1 is %2. Each cell shows by how much it changes when that head or MLP is removed.")
                .arg(target, formatFixed(effects.whole))};
    const auto heads = static_cast<size_t>(effects.heads);
    std::vector<float> values;
    for (int site = 0; site < effects.sites; ++site) {
        answer.matrix.rowLabels.push_back(QString::fromStdString(structure.labelOf(site)));
        const auto row = std::span(effects.headEffects).subspan(static_cast<size_t>(site) * heads, heads);
        values.insert(values.end(), row.begin(), row.end());
        if (!effects.mlpEffects.empty()) values.push_back(effects.mlpEffects[static_cast<size_t>(site)]);
    }
    for (int head = 0; head < effects.heads; ++head) answer.matrix.columnLabels.push_back(headColumnLabel(head));
    if (!effects.mlpEffects.empty()) {
        answer.summary += ' ' + LensText::tr("Heads and MLPs each have a colour scale of their own.");
        answer.matrix.columnLabels.push_back(LensText::tr("MLP"));
        answer.matrix.aside = {.columns = 1, .name = LensText::tr("MLPs"), .others = LensText::tr("heads")};
    }
    answer.matrix.writesValues = true;
    answer.matrix.title = LensText::tr("Effect of removing each head or MLP");
    answer.matrix.rowTitle = LensText::tr("layer");
    answer.matrix.columnTitle = effects.mlpEffects.empty() ? LensText::tr("head") : LensText::tr("head or MLP");
    answer.matrix.rowsAreNamed = answer.matrix.columnsAreNamed = true;
    answer.matrix.setMatrix(effects.sites, static_cast<int>(answer.matrix.columnLabels.size()), std::move(values));
    return answer;
}

ValueChange removalOf(const HeadEffects& effects, const ModelStructure& structure, int site, int column) {
    const Site& at = structure.sites.at(static_cast<size_t>(site));
    const bool isHead = column < effects.heads;
    return {.hook = isHead ? at.hook("z") : at.inBlock("hook_mlp_out"), .head = isHead ? column : -1};
}

LensAnswer patchingAnswer(const PatchEffects& effects, const ModelStructure& structure, const QString& target,
                          const QString& source, std::vector<QString> tokens) {
    LensAnswer answer{
        .summary =
            LensText::tr("The %1 is %2 here and %3 in %4. Each cell shows the share of this gap that closes "
                         "when “%5” is copied there from %4.")
                .arg(target, formatFixed(effects.own), formatFixed(effects.other), source, hookTitle(effects.hook))};
    answer.matrix.title = LensText::tr("Share of the gap closed");
    answer.matrix.rowTitle = effects.hook == "hook_resid_pre" ? LensText::tr("before layer") : LensText::tr("in layer");
    answer.matrix.columnTitle = LensText::tr("token");
    answer.matrix.setMatrix(static_cast<int>(effects.sites.size()), effects.tokens, effects.effects);
    for (const int site : effects.sites)
        answer.matrix.rowLabels.push_back(
            structure.hasTwoStacks() ? QString::fromStdString(structure.labelOf(site))
                                     : LensText::tr("layer %1").arg(structure.sites[static_cast<size_t>(site)].layer));
    answer.matrix.columnLabels = std::move(tokens);
    for (const float logit : effects.logits)
        answer.remarks.push_back(LensText::tr("%1: %2").arg(target, formatFixed(logit)));
    return answer;
}

LensAnswer headPatchingAnswer(const HeadPatchEffects& effects, const ModelStructure& structure, const QString& target,
                              const QString& source) {
    LensAnswer answer{.summary =
                          LensText::tr("The %1 is %2 here and %3 in %4. Each cell shows the share of this gap that "
                                       "closes when the output of one head is copied from %4, at all tokens.")
                              .arg(target, formatFixed(effects.own), formatFixed(effects.other), source)};
    answer.matrix.title = LensText::tr("Share of the gap that each head closes");
    answer.matrix.rowTitle = LensText::tr("layer");
    answer.matrix.columnTitle = LensText::tr("head");
    answer.matrix.rowsAreNamed = answer.matrix.columnsAreNamed = true;
    answer.matrix.writesValues = true;
    answer.matrix.setMatrix(effects.sites, effects.heads, effects.effects);
    for (int site = 0; site < effects.sites; ++site)
        answer.matrix.rowLabels.push_back(QString::fromStdString(structure.labelOf(site)));
    for (int head = 0; head < effects.heads; ++head) answer.matrix.columnLabels.push_back(headColumnLabel(head));
    for (const float logit : effects.logits)
        answer.remarks.push_back(LensText::tr("%1: %2").arg(target, formatFixed(logit)));
    return answer;
}

ValueChange patchOf(const ModelStructure& structure, int site, int head, const std::string& source) {
    return {.kind = ValueChange::Kind::Patch,
            .hook = structure.sites.at(static_cast<size_t>(site)).hook("z"),
            .head = head,
            .text = source};
}

ValueChange patchOf(const PatchEffects& effects, const ModelStructure& structure, int row, int position,
                    const std::string& source) {
    const int site = effects.sites.at(static_cast<size_t>(row));
    return {.kind = ValueChange::Kind::Patch,
            .hook = structure.sites.at(static_cast<size_t>(site)).inBlock(effects.hook),
            .position = position,
            .text = source};
}

} // namespace attn
