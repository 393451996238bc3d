#include "app/cli/command.h"
#include "app/cli/vision_options.h"

#include "app/figures/export_figure.h"
#include "app/figures/heatmap_figure.h"
#include "app/figures/thumbnail_grid_figure.h"
#include "app/figures/token_label.h"
#include "engine/core/error.h"
#include "engine/inference/language_model.h"

#include <fmt/format.h>

#include <QGuiApplication>

namespace attn::cli {
namespace {

struct RenderOptions {
    ModelOptions model;
    PromptOptions prompt;
    ImageOptions picture;
    VisionView view; ///< some of it also for text
};

std::vector<QString> labelsOf(const LanguageModel& model) {
    std::vector<QString> labels;
    for (int id : model.tokens())
        labels.push_back(
            tokenLabel({.id = id, .text = model.tokenizer() ? model.tokenizer()->tokenText(id) : std::string()}));
    return labels;
}

int renderText(const RenderOptions& options) {
    const VisionView& view = options.view;
    if (view.view == "rollout")
        throw Error({.what = "--view rollout needs a picture", .where = {}, .hint = "give one with --image"});
    qputenv("QT_QPA_PLATFORM", "offscreen");
    int argc = 1;
    std::string name = "attention-cli";
    char* argv[] = {name.data(), nullptr};
    const QGuiApplication application(argc, argv); // fonts need it

    const auto model = options.model.open(true);
    const ModelInfo& info = model->info();
    if (view.site < 0 || view.site >= info.layers || view.head < 0 || view.head >= info.heads)
        throw Error({.what = fmt::format("there is no layer {}, head {}", view.site, view.head),
                     .where = info.name,
                     .hint = fmt::format("choose a layer from 0 to {} and a head from 0 to {}", info.layers - 1,
                                         info.heads - 1)});
    model->feed(options.prompt.encode(*model));

    const FigureTheme theme = themeFromKey(view.theme);
    const ColourMapId colours = colourMapFromKey(QString::fromStdString(view.colours));
    std::unique_ptr<Figure> figure;
    if (view.view == "attention") {
        auto heatmap = std::make_unique<HeatmapFigure>();
        heatmap->tile = std::make_shared<PatternTile>(
            model->patternTile({.site = view.site, .head = view.head, .detailSize = 2048}));
        heatmap->title = QString("Layer %1, head %2").arg(view.site).arg(view.head);
        heatmap->colours = colours;
        heatmap->tokenCount = static_cast<int>(model->tokens().size());
        heatmap->setLabels(labelsOf(*model));
        figure = std::move(heatmap);
    } else {
        auto grid = std::make_unique<ThumbnailGridFigure>();
        grid->newest = std::make_shared<NewestRows>(model->newestRows());
        grid->keyValueHeads = info.structure.sites.front().keyValueHeads;
        grid->colours = colours;
        grid->selected = {view.site, view.head};
        grid->setGrid(std::make_shared<PatternGrid>(model->patternGrid(128)));
        figure = std::move(grid);
    }
    if (const auto failure = exportFigure(*figure, theme, {view.width, view.height}, QString::fromStdString(view.out)))
        throw Error({.what = failure->what, .where = failure->where, .hint = failure->hint});
    return kDone;
}

} // namespace

void addRender(Command& command) {
    const auto options = std::make_shared<RenderOptions>();
    VisionView& view = options->view;
    command.about("Draws the heatmap of a head for a prompt, or attention over a picture.");
    options->model.addTo(command);
    options->prompt.addTo(command);
    options->picture.addTo(command, false);
    command
        .option("--view VIEW", view.view,
                "attention: one head; heads: all heads, text only; rollout: through all layers, pictures only")
        .choices({"attention", "heads", "rollout"});
    command.option("--layer N", view.site, "layer, counted from 0").atLeast(0);
    command.option("--head N", view.head, "head, counted from 0").atLeast(0);
    command
        .option("--patch TOKEN", view.patch,
                "query of a picture: number of a patch, its row,column, cls, or mean for all patches")
        .defaultText("cls if the model has it, else mean");
    command.option("--fusion HOW", view.fusion, "how rollout combines the heads of a layer")
        .choices({"mean", "max", "min"});
    command.option("--discard SHARE", view.discard, "share of each layer's lowest cells that rollout leaves out")
        .range(0.0, 0.999);
    command.option("--class CLASS", view.label,
                   "weight rollout by the gradient of this class (number or label); ignores --fusion and --discard");
    command.option("--opacity X", view.opacity, "opacity of the colours over a picture").range(0.0, 1.0);
    command.flag("--smooth", view.isSmooth, "blend the colours between patches");
    command.option("--out FILE", view.out, "file to write: .png, .svg or .pdf").required();
    command.option("--colours MAP", view.colours, "colour map").choices({"viridis", "cividis", "magma", "greys"});
    command.option("--theme THEME", view.theme, "colours and text size").choices({"light", "dark", "projector"});
    command.option("--width N", view.width, "width in pixels").range(100, 10000);
    command.option("--height N", view.height, "height in pixels").range(100, 10000);
    command.example("attention-cli render builtin:induction --prompt 'the cat sat on the cat' --layer 1 --head 0 --out "
                    "head.svg");
    command.example("attention-cli render builtin:vit-shapes --image circle.png --view rollout --out rollout.png");
    command.example(
        "attention-cli render builtin:vit-shapes --image circle.png --view rollout --class circle --out why.png");
    command.action([=] {
        return options->picture.image.empty() ? renderText(*options)
                                              : renderVision(options->model, options->picture, options->view);
    });
}

} // namespace attn::cli
