#include "app/cli/render.h"

#include "app/figures/heatmap_figure.h"
#include "app/figures/lens_pages.h"
#include "app/figures/thumbnail_grid_figure.h"
#include "app/figures/token_label.h"
#include "engine/core/error.h"
#include "engine/inference/language_model.h"

#include <fmt/format.h>

namespace attn::cli {
namespace {

std::vector<QString> labelsOf(const LanguageModel& model) {
    std::vector<QString> labels;
    for (int id : model.tokens())
        labels.push_back(
            tokenLabel({.id = id, .text = model.tokenizer() ? model.tokenizer()->tokenText(id) : std::string()}));
    return labels;
}

std::unique_ptr<Figure> headFigure(LanguageModel& model, const RenderOptions& options) {
    auto heatmap = std::make_unique<HeatmapFigure>();
    heatmap->tile = std::make_shared<PatternTile>(
        model.patterns().tile({.site = options.site, .head = options.head, .detailSize = 2048}));
    heatmap->title = headTitle({.site = options.site, .head = options.head}) + resolutionText(heatmap->tile.get());
    heatmap->colours = colourMapFromKey(QString::fromStdString(options.colours));
    heatmap->tokenCount = static_cast<int>(model.tokens().size());
    heatmap->setLabels(labelsOf(model));
    return heatmap;
}

std::unique_ptr<Figure> headsFigure(LanguageModel& model, const RenderOptions& options) {
    auto grid = std::make_unique<ThumbnailGridFigure>();
    grid->newest = std::make_shared<NewestRows>(model.patterns().newestRows());
    grid->keyValueHeads = model.info().structure.sites.front().keyValueHeads;
    grid->colours = colourMapFromKey(QString::fromStdString(options.colours));
    grid->selected = {options.site, options.head};
    grid->setGrid(std::make_shared<PatternGrid>(model.patterns().grid(128)));
    return grid;
}

std::unique_ptr<Figure> lensFigure(LanguageModel& model, const RenderOptions& options) {
    const LensPage& page = lensNamed(lensPages(), options.lens);
    const std::vector<int> tokens = model.tokens();
    const LensSubject subject{.model = model.info(), .axis = tokenAxis(labelsOf(model))};
    const auto analysis = page.make({.site = options.site,
                                     .head = options.head,
                                     .position = options.position,
                                     .target = options.target.read(model),
                                     .text = options.from});
    auto figure = std::make_unique<LensFigure>();
    figure->answer = page.show(*runAnalysis(model, tokens, {}, *analysis), subject);
    return requireDrawing(std::move(figure), options.lens);
}

} // namespace

std::unique_ptr<Figure> requireDrawing(std::unique_ptr<LensFigure> figure, const std::string& lens) {
    if (!figure->numbers().empty()) return figure;
    throw Error({.what = fmt::format("the lens \"{}\" draws nothing: it gives names", lens),
                 .where = {},
                 .hint = "see attention-cli lens and attention-cli detect"});
}

std::unique_ptr<Figure> textFigure(const RenderOptions& options) {
    if (options.view == "rollout")
        throw Error({.what = "--view rollout needs a picture", .where = {}, .hint = "give one with --image"});
    const auto model = options.model.open(true);
    const ModelInfo& info = model->info();
    if (options.site < 0 || options.site >= info.layers || options.head < 0 || options.head >= info.heads)
        throw Error({.what = fmt::format("there is no layer {}, head {}", options.site, options.head),
                     .where = info.name,
                     .hint = fmt::format("choose a layer from 0 to {} and a head from 0 to {}", info.layers - 1,
                                         info.heads - 1)});
    model->feed(options.prompt.encode(*model));
    if (options.view == "lens") return lensFigure(*model, options);
    return options.view == "heads" ? headsFigure(*model, options) : headFigure(*model, options);
}

void addRender(Command& command) {
    const auto options = std::make_shared<RenderOptions>();
    command.about("Draws attention or the result of a lens, for a prompt or a picture, as the window draws it.");
    options->model.addTo(command);
    options->prompt.addTo(command);
    options->picture.addTo(command, false);
    command
        .option("--view VIEW", options->view,
                "attention: one head; heads: all heads; rollout: through all layers, pictures only; lens: the "
                "result of --lens")
        .choices({"attention", "heads", "rollout", "lens"});
    command.option("--layer N", options->site, "layer, counted from 0").atLeast(0);
    command.option("--head N", options->head, "head, counted from 0").atLeast(0);
    command
        .option("--patch TOKEN", options->patch,
                "query of a picture: number of a patch, its row,column, cls, or mean for all patches")
        .defaultText("cls if the model has it, else mean");
    command.option("--fusion HOW", options->fusion, "how rollout combines the heads of a layer")
        .choices({"mean", "max", "min"});
    command.option("--discard SHARE", options->discard, "share of each layer's lowest cells that rollout leaves out")
        .range(0.0, 0.999);
    command.option("--class CLASS", options->label,
                   "weight rollout by the gradient of this class (number or label); ignores --fusion and --discard");
    command.option(
        "--lens LENS", options->lens,
        "lens of the Lenses panel: of text logit, attribution, gradients, flow, weighted, composition, ablation "
        "or patching; of a picture classes, contributions, patches, layer_kinds, effects or patching");
    command.option("--position N", options->position, "token that the lens explains; -1: the last");
    options->target.addTo(command);
    command.option("--from INPUT", options->from, "text or picture that the lens patching copies values from");
    command.option("--opacity X", options->opacity, "opacity of the colours over a picture").range(0.0, 1.0);
    command.flag("--smooth", options->isSmooth, "blend the colours between patches");
    command.option("--out FILE", options->out, "file to write: .png, .svg or .pdf").required();
    command.option("--colours MAP", options->colours, "colour map").choices({"viridis", "cividis", "magma", "greys"});
    command.option("--theme THEME", options->theme, "colours and text size").choices({"light", "dark", "projector"});
    command.option("--width N", options->width, "width in pixels").range(100, 10000);
    command.option("--height N", options->height, "height in pixels").range(100, 10000);
    command.example("attention-cli render builtin:induction --prompt 'the cat sat on the cat' --layer 1 --head 0 --out "
                    "head.svg");
    command.example("attention-cli render builtin:stories --prompt 'Once upon a time' --view lens --lens logit --out "
                    "lens.png");
    command.example("attention-cli render builtin:vit-shapes --image circle.png --view rollout --out rollout.png");
    command.example(
        "attention-cli render builtin:vit-shapes --image circle.png --view rollout --class circle --out why.png");
    command.action([=] {
        const auto figure = options->picture.image.empty() ? textFigure(*options) : pictureFigure(*options);
        writeFigure(*figure, {options->width, options->height}, options->out, options->theme);
        return kDone;
    });
}

} // namespace attn::cli
