#include "app/cli/render.h"

#include "app/figures/vision_lens_pages.h"
#include "app/figures/vision_look.h"
#include "engine/analysis/attention_rollout.h"
#include "engine/core/error.h"
#include "engine/inference/vision_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace attn::cli {
namespace {

/// A whole number, -1 for anything else.
int numberOf(std::string_view text) {
    int value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

/// Reads the query: "cls", "mean", "7" or "2,5" (row, column). Empty: CLS if the model has one, else the mean.
/// @throws Error naming the valid ones
void readQuery(VisionLook& look, const std::string& text, const ModelInfo& info) {
    const bool hasCls = !info.prefix.empty() && info.prefix.front() == "CLS";
    if (hasCls && (text.empty() || text == "cls")) return;
    look.isMean = text.empty() || text == "mean";
    if (look.isMean) return;
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
    look.patch = row * columns + column;
}

/// A picture that a model has run on.
struct RenderedPicture {
    VisionModel& model;
    const RenderOptions& options;
    std::vector<float> patches;
    PictureRun run;
};

std::unique_ptr<Figure> attentionFigure(RenderedPicture& input) {
    const RenderOptions& options = input.options;
    const ModelInfo& info = input.model.info();
    const bool isLayer = options.site >= 0 && options.site < info.layers;
    const int heads = isLayer ? info.site(options.site).heads : info.heads;
    if (!isLayer || options.head < 0 || options.head >= heads)
        throw Error(
            {.what = fmt::format("there is no layer {}, head {}", options.site, options.head),
             .where = info.name,
             .hint = fmt::format("choose a layer from 0 to {} and a head from 0 to {}", info.layers - 1, heads - 1)});
    VisionLook look{.isRollout = options.view == "rollout",
                    .site = options.site,
                    .head = options.head,
                    .colours = colourMapFromKey(QString::fromStdString(options.colours)),
                    .opacity = options.opacity,
                    .isSmooth = options.isSmooth};
    readQuery(look, options.patch, info);
    const std::optional<int> layer = options.view == "attention" ? std::optional(look.site) : std::nullopt;
    const auto patterns = input.model.patternsAndLogits(input.patches, layer).patterns;
    input.run.patterns = patterns;
    if (options.view == "heads") {
        auto figure = std::make_unique<HeadOverlaysFigure>(headOverlaysFigure(input.run, look));
        figure->chosen = options.site * info.heads + options.head;
        return figure;
    }
    std::shared_ptr<const Rollout> rollout;
    if (look.isRollout) {
        RolloutAnalysis analysis;
        if (!options.label.empty()) {
            input.run.rolloutClass = labelNamed(options.label, info);
            analysis.target = LogitTarget{.token = *input.run.rolloutClass};
        }
        analysis.options = {.fusion = options.fusion == "max"   ? HeadFusion::Maximum
                                      : options.fusion == "min" ? HeadFusion::Minimum
                                                                : HeadFusion::Mean,
                            .discard = options.discard};
        rollout = std::static_pointer_cast<const Rollout>(
            analysis.run(input.model, {.input = input.patches, .patterns = &patterns}));
        input.run.rollout = &rollout->map;
    } else if (patterns[static_cast<size_t>(look.site)].values.empty()) {
        throw Error({.what = fmt::format("layer {} forms no pattern", look.site),
                     .where = info.name,
                     .hint = "choose a layer whose attention forms a pattern"});
    }
    return std::make_unique<PatchOverlayFigure>(overlayFigure(input.run, look));
}

std::unique_ptr<Figure> lensFigure(RenderedPicture& input) {
    const RenderOptions& options = input.options;
    const VisionLensPage& page = lensNamed(visionLensPages(), options.lens);
    if (page.usesOther && options.from.empty())
        throw Error({.what = fmt::format("the lens \"{}\" copies values from another picture", options.lens),
                     .where = "--lens",
                     .hint = "name it with --from"});
    std::optional<Input> other;
    if (!options.from.empty()) other = input.model.patchesOf(ImageOptions{.image = options.from, .asked = {}}.read());
    const auto patterns = input.model.patternsAndLogits(input.patches).patterns;
    const LensSubject subject{.model = input.model.info(), .axis = input.run.axis(), .patterns = patterns};
    const auto result =
        runAnalysis(input.model, input.patches, other,
                    *page.make(page.usesTarget || page.usesOther ? classTarget(options.target, input.model.info())
                                                                 : LogitTarget{}));
    auto figure = std::make_unique<LensFigure>();
    figure->answer = page.show(*result, subject);
    if (page.overlay) figure->overlay = page.overlay(*result, subject, {});
    return requireDrawing(std::move(figure), options.lens);
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

LogitTarget classTarget(const TargetOptions& target, const ModelInfo& info) {
    const auto read = [&](const std::string& text) { return text.empty() ? -1 : labelNamed(text, info); };
    return {.token = read(target.token), .other = read(target.other)};
}

std::unique_ptr<Figure> pictureFigure(const RenderOptions& options) {
    if (!options.label.empty() && options.view != "rollout")
        throw Error({.what = "--class applies only to --view rollout", .where = {}, .hint = "add --view rollout"});
    const Image image = options.picture.read();
    const auto model = openVision(options.model, options.picture.asked);
    const Image seen = model->seen(image);
    RenderedPicture input{.model = *model,
                          .options = options,
                          .patches = model->patchesOf(image),
                          .run = {.model = &model->info(), .seen = &seen}};
    return options.view == "lens" ? lensFigure(input) : attentionFigure(input);
}

} // namespace attn::cli
