#include "app/cli/command.h"
#include "app/cli/vision_options.h"

#include "app/figures/patch_overlay_figure.h"
#include "app/figures/read_image.h"
#include "engine/core/error.h"
#include "engine/session/attention_rollout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace attn::cli {
namespace {

/// The token that "cls", "7" or "2,5" (row, column) names. @throws Error naming what there is
int tokenOf(const std::string& text, const VisionInfo& info) {
    if (text == "cls" && !info.prefix.empty() && info.prefix.front() == "CLS") return 0;
    const auto number = [](std::string_view part) {
        int value = -1;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
        return error == std::errc() && end == part.data() + part.size() ? value : -1;
    };
    const size_t comma = text.find(',');
    const std::string_view all = text;
    const auto columns = static_cast<int>(info.grid.width), rows = static_cast<int>(info.grid.height);
    const int row = comma == text.npos ? number(all) / columns : number(all.substr(0, comma)),
              column = comma == text.npos ? number(all) % columns : number(all.substr(comma + 1));
    if ((comma == text.npos && number(all) < 0) || row < 0 || row >= rows || column < 0 || column >= columns)
        throw Error({.what = fmt::format("there is no patch \"{}\"", text),
                     .where = info.name,
                     .hint = fmt::format("{}patches are 0 to {}, or row,column of {} x {}",
                                         info.prefix.empty() ? "" : "cls is the class token; ", rows * columns - 1,
                                         rows, columns)});
    return static_cast<int>(info.prefix.size()) + row * columns + column;
}

std::vector<CapturedHook> patternsOf(VisionModel& model, std::span<const float> patches, const std::string& hooks) {
    const auto captured = model.capture(patches, hooks);
    for (const CapturedHook& hook : captured)
        if (hook.shape.rank() != 3) // [H,T,S]
            throw Error({.what = "the attention of this model forms no pattern",
                         .where = hook.name,
                         .hint = "open one with softmax attention"});
    return captured;
}

/// A row of a map over tokens, as a figure of its patches.
void show(PatchOverlayFigure& figure, const VisionInfo& info, std::span<const float> row, int query) {
    const size_t before = info.prefix.size();
    figure.setValues(static_cast<int>(info.grid.height), static_cast<int>(info.grid.width),
                     {row.begin() + static_cast<std::ptrdiff_t>(before), row.end()});
    double elsewhere = 0;
    for (size_t i = 0; i < before; ++i) elsewhere += static_cast<double>(row[i]);
    if (before > 0) figure.note = QString("%1 % on tokens that are no patches").arg(elsewhere * 100, 0, 'f', 1);
    if (query >= static_cast<int>(before)) figure.marked = query - static_cast<int>(before);
}

QString nameOf(const VisionInfo& info, int token) {
    const auto before = static_cast<int>(info.prefix.size()), columns = static_cast<int>(info.grid.width);
    if (token < before) return QString::fromStdString(info.prefix[static_cast<size_t>(token)]);
    return QString("patch %1, %2").arg((token - before) / columns).arg((token - before) % columns);
}

void drawAttention(PatchOverlayFigure& figure, VisionModel& model, std::span<const float> patches,
                   const VisionView& view) {
    const VisionInfo& info = model.info();
    if (view.layer < 0 || view.layer >= info.layers || view.head < 0 || view.head >= info.heads)
        throw Error({.what = fmt::format("there is no layer {} head {}", view.layer, view.head),
                     .where = info.name,
                     .hint = fmt::format("layers are 0 to {}, heads 0 to {}", info.layers - 1, info.heads - 1)});
    const int query = tokenOf(view.patch, info);
    const auto captured = patternsOf(model, patches, fmt::format("blocks.{}.attn.hook_pattern", view.layer));
    const auto tokens = static_cast<size_t>(info.tokens());
    const size_t begin = (static_cast<size_t>(view.head) * tokens + static_cast<size_t>(query)) * tokens;
    show(figure, info, std::span(captured.front().values).subspan(begin, tokens), query);
    figure.title = QString("Layer %1  Head %2  from %3").arg(view.layer).arg(view.head).arg(nameOf(info, query));
}

void drawRollout(PatchOverlayFigure& figure, VisionModel& model, std::span<const float> patches,
                 const VisionView& view) {
    const VisionInfo& info = model.info();
    const int query = tokenOf(view.patch, info);
    const auto captured = patternsOf(model, patches, "blocks.*.attn.hook_pattern");
    std::vector<std::span<const float>> maps;
    for (const CapturedHook& hook : captured) maps.emplace_back(hook.values);
    const HeadFusion fusion = view.fusion == "max"   ? HeadFusion::Maximum
                              : view.fusion == "min" ? HeadFusion::Minimum
                                                     : HeadFusion::Mean;
    const std::vector<float> flow =
        attentionRollout(maps, info.heads, info.tokens(), {.fusion = fusion, .discard = view.discard});
    const auto tokens = static_cast<size_t>(info.tokens());
    show(figure, info, std::span(flow).subspan(static_cast<size_t>(query) * tokens, tokens), query);
    figure.title = QString("Rollout of %1 layers  from %2").arg(info.layers).arg(nameOf(info, query));
}

} // namespace

int renderVision(const ModelOptions& options, const ImageOptions& picture, const VisionView& view) {
    if (view.view != "attention" && view.view != "rollout")
        throw Error({.what = fmt::format("the view \"{}\" is of text", view.view),
                     .where = "--view",
                     .hint = "of a picture there are attention and rollout"});
    const Image image = picture.read();
    const auto model = openVision(options, picture.asked());
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
