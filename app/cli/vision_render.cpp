#include "app/cli/command.h"
#include "app/cli/vision_options.h"

#include "app/figures/patch_overlay_figure.h"
#include "app/figures/read_image.h"
#include "engine/analysis/attention_rollout.h"
#include "engine/analysis/patch_row.h"
#include "engine/core/error.h"
#include "engine/inference/vision_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace attn::cli {
namespace {

/// The row of a pattern that is drawn: that of one token, or the mean of the rows of all patches.
struct PatchChoice {
    std::optional<int> token;
    QString name;
};

/// A whole number, -1 for anything else.
int numberOf(std::string_view text) {
    int value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

/// "cls", "mean", "7" or "2,5" (row, column). Empty: CLS if the model has one, else the mean.
/// @throws Error naming the valid ones
PatchChoice patchChoiceOf(const std::string& text, const ModelInfo& info) {
    const bool hasCls = !info.prefix.empty() && info.prefix.front() == "CLS";
    if (hasCls && (text.empty() || text == "cls")) return {0, "CLS"};
    if (text.empty() || text == "mean") return {std::nullopt, "all patches on average"};
    const auto columns = static_cast<int>(info.grid.width), rows = static_cast<int>(info.grid.height);
    const size_t comma = text.find(',');
    int row = -1, column = -1;
    if (comma != text.npos) {
        row = numberOf(std::string_view(text).substr(0, comma));
        column = numberOf(std::string_view(text).substr(comma + 1));
    } else if (const int patch = numberOf(text); patch >= 0) {
        row = patch / columns;
        column = patch % columns;
    }
    if (row < 0 || row >= rows || column < 0 || column >= columns)
        throw Error({.what = fmt::format("there is no patch \"{}\"", text),
                     .where = info.name,
                     .hint = fmt::format("{}patches are 0 to {}, or row,column of {} x {}; mean is all of them",
                                         hasCls ? "cls is the class token; " : "", rows * columns - 1, rows, columns)});
    return {static_cast<int>(info.prefix.size()) + row * columns + column,
            QString("patch %1, %2").arg(row).arg(column)};
}

void show(PatchOverlayFigure& figure, const ModelInfo& info, PatchRow row, const PatchChoice& choice) {
    figure.setValues(static_cast<int>(info.grid.height), static_cast<int>(info.grid.width), std::move(row.patches));
    const auto before = static_cast<int>(info.prefix.size());
    if (before > 0)
        figure.note = QString("%1 % of attention goes to %2")
                          .arg(row.elsewhere * 100, 0, 'f', 1)
                          .arg(before == 1 ? QString::fromStdString(info.prefix.front())
                                           : QString("the %1 tokens before the patches").arg(before));
    if (choice.token && *choice.token >= before) figure.marked = *choice.token - before;
}

void drawAttention(PatchOverlayFigure& figure, VisionModel& model, std::span<const float> patches,
                   const VisionView& view) {
    const ModelInfo& info = model.info();
    const bool isLayer = view.site >= 0 && view.site < info.layers;
    const int heads = isLayer ? info.site(view.site).heads : info.heads;
    if (!isLayer || view.head < 0 || view.head >= heads)
        throw Error(
            {.what = fmt::format("there is no layer {}, head {}", view.site, view.head),
             .where = info.name,
             .hint = fmt::format("choose a layer from 0 to {} and a head from 0 to {}", info.layers - 1, heads - 1)});
    const PatchChoice choice = patchChoiceOf(view.patch, info);
    const auto patterns = model.patternsAndLogits(patches, view.site).patterns;
    const SitePattern& pattern = patterns[static_cast<size_t>(view.site)];
    if (pattern.values.empty())
        throw Error({.what = fmt::format("layer {} forms no pattern", view.site),
                     .where = info.name,
                     .hint = "choose a layer whose attention forms a pattern"});
    show(figure, info, patchRow(pattern, view.head, choice.token), choice);
    if (pattern.layout.tokens < info.tokens()) figure.tokens = pattern.layout.tokenOf;
    figure.title = QString("Layer %1, head %2: attention of %3").arg(view.site).arg(view.head).arg(choice.name);
}

void drawRollout(PatchOverlayFigure& figure, VisionModel& model, std::span<const float> patches,
                 const VisionView& view) {
    const ModelInfo& info = model.info();
    const PatchChoice choice = patchChoiceOf(view.patch, info);
    const auto patterns = model.patternsAndLogits(patches).patterns;
    const auto without =
        std::ranges::count_if(patterns, [](const SitePattern& pattern) { return pattern.values.empty(); });
    if (without > 0)
        throw Error({.what = fmt::format("{} of {} layers form no pattern", without, info.layers),
                     .where = info.name,
                     .hint = "choose a model that forms a pattern in every layer, or --view attention"});
    if (!view.label.empty()) {
        const int label = labelNamed(view.label, info);
        show(figure, info, patchRow(gradientRollout(patterns, model.patternGradients(patches, label)), choice.token),
             choice);
        figure.title = QString("Rollout over %1 layers for “%2”: attention of %3")
                           .arg(info.layers)
                           .arg(QString::fromStdString(info.labelOf(label)), choice.name);
        figure.note = "relevance: only what raises the class counts, so the sum varies";
        return;
    }
    const HeadFusion fusion = view.fusion == "max"   ? HeadFusion::Maximum
                              : view.fusion == "min" ? HeadFusion::Minimum
                                                     : HeadFusion::Mean;
    show(figure, info, patchRow(attentionRollout(patterns, {.fusion = fusion, .discard = view.discard}), choice.token),
         choice);
    figure.title = QString("Rollout over %1 layers: attention of %2").arg(info.layers).arg(choice.name);
}

} // namespace

int labelNamed(const std::string& text, const ModelInfo& info) {
    for (int index = 0; index < info.classes; ++index)
        if (info.labelOf(index) == text) return index;
    const int index = numberOf(text);
    if (index >= 0 && index < info.classes) return index;
    throw Error({.what = fmt::format("there is no class \"{}\"", text),
                 .where = info.name,
                 .hint = info.classes == 0 ? "this model has no classifier"
                                           : fmt::format("give a label, or a number from 0 to {}", info.classes - 1)});
}

int renderVision(const ModelOptions& options, const ImageOptions& picture, const VisionView& view) {
    if (view.view != "attention" && view.view != "rollout")
        throw Error({.what = fmt::format("--view {} needs text", view.view),
                     .where = {},
                     .hint = "with --image, choose --view attention or --view rollout"});
    if (!view.label.empty() && view.view != "rollout")
        throw Error({.what = "--class applies only to --view rollout", .where = {}, .hint = "add --view rollout"});
    const Image image = picture.read();
    const auto model = openVision(options, picture.asked);
    const std::vector<float> patches = model->patchesOf(image);
    PatchOverlayFigure figure;
    figure.image = toQImage(model->seen(image));
    figure.colours = colourMapFromKey(QString::fromStdString(view.colours));
    figure.opacity = view.opacity;
    figure.isSmooth = view.isSmooth;
    if (view.view == "attention")
        drawAttention(figure, *model, patches, view);
    else
        drawRollout(figure, *model, patches, view);
    writeFigure(figure, {view.width, view.height}, view.out, view.theme);
    return kDone;
}

} // namespace attn::cli
