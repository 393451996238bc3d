#include "app/cli/command.h"
#include "app/cli/vision_options.h"

#include "app/figures/export_figure.h"
#include "app/figures/heatmap_figure.h"
#include "app/figures/thumbnail_grid_figure.h"
#include "app/figures/token_label.h"
#include "engine/core/error.h"

#include <fmt/format.h>

#include <QGuiApplication>

namespace attn::cli {
namespace {

struct Options {
    ModelOptions model;
    PromptOptions prompt;
    ImageOptions picture;
    VisionView view; ///< of text too, where it means something
};

std::vector<QString> labelsOf(const LanguageModel& model) {
    std::vector<QString> labels;
    for (int id : model.tokens())
        labels.push_back(
            tokenLabel({.id = id, .text = model.tokenizer() ? model.tokenizer()->tokenText(id) : std::string()}));
    return labels;
}

int renderText(const Options& options) {
    const VisionView& view = options.view;
    if (view.view == "rollout")
        throw Error({.what = "rollout is drawn over a picture", .where = "--view", .hint = "give one with --image"});
    qputenv("QT_QPA_PLATFORM", "offscreen");
    int argc = 1;
    std::string name = "attention-cli";
    char* argv[] = {name.data(), nullptr};
    const QGuiApplication application(argc, argv); // fonts need one

    const auto model = options.model.open(true);
    const ModelInfo& info = model->info();
    if (view.layer < 0 || view.layer >= info.layers || view.head < 0 || view.head >= info.heads)
        throw Error({.what = fmt::format("there is no layer {} head {}", view.layer, view.head),
                     .where = info.name,
                     .hint = fmt::format("layers are 0 to {}, heads 0 to {}", info.layers - 1, info.heads - 1)});
    model->feed(options.prompt.encode(*model));

    const FigureTheme theme = themeFromKey(view.theme);
    const ColourMapId colours = colourMapFromKey(QString::fromStdString(view.colours));
    std::unique_ptr<Figure> figure;
    if (view.view == "attention") {
        auto heatmap = std::make_unique<HeatmapFigure>();
        heatmap->tile = std::make_shared<PatternTile>(
            model->patternTile({.layer = view.layer, .head = view.head, .detailSize = 2048}));
        heatmap->title = QString("Layer %1  Head %2").arg(view.layer).arg(view.head);
        heatmap->colours = colours;
        heatmap->tokenCount = static_cast<int>(model->tokens().size());
        heatmap->setLabels(labelsOf(*model));
        figure = std::move(heatmap);
    } else {
        auto grid = std::make_unique<ThumbnailGridFigure>();
        grid->newest = std::make_shared<NewestRows>(model->newestRows());
        grid->keyValueHeads = info.keyValueHeads;
        grid->colours = colours;
        grid->selected = {view.layer, view.head};
        grid->setGrid(std::make_shared<PatternGrid>(model->patternGrid(128)));
        figure = std::move(grid);
    }
    if (const auto failure = exportFigure(*figure, theme, {view.width, view.height}, QString::fromStdString(view.out)))
        throw Error({.what = failure->what, .where = failure->where, .hint = failure->hint});
    return kDone;
}

} // namespace

void addRender(CLI::App& app, Run& run) {
    CLI::App* command = app.add_subcommand("render", "draw a view to a picture, as the application shows it");
    const auto options = std::make_shared<Options>();
    options->model.addTo(*command);
    options->prompt.addTo(*command);
    options->picture.addTo(*command, false);
    command
        ->add_option("--view", options->view.view,
                     "attention (one head), heads (all of them; of text) or rollout (through all layers; of a "
                     "picture)")
        ->check(CLI::IsMember({"attention", "heads", "rollout"}))
        ->capture_default_str();
    command->add_option("--layer", options->view.layer)->capture_default_str();
    command->add_option("--head", options->view.head)->capture_default_str();
    command->add_option("--patch", options->view.patch,
                        "whose look at a picture is drawn: a patch's number, its row,column, cls, or mean (of all "
                        "patches); cls where there is one");
    command->add_option("--fusion", options->view.fusion, "how rollout makes one map of a layer's heads")
        ->check(CLI::IsMember({"mean", "max", "min"}))
        ->capture_default_str();
    command
        ->add_option("--discard", options->view.discard,
                     "share of each layer's cells, the lowest, that rollout leaves out")
        ->check(CLI::Range(0.0, 0.999))
        ->capture_default_str();
    command->add_option("--class", options->view.label,
                        "weight rollout by the gradient of this class: its number or its label; fusion and discard are "
                        "then no choice");
    command->add_option("--opacity", options->view.opacity, "of the colours over a picture")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    command->add_flag("--smooth", options->view.isSmooth, "blend the colours between patches");
    command->add_option("--out", options->view.out, "file to write: .png, .svg or .pdf")->required();
    command->add_option("--colours", options->view.colours)
        ->check(CLI::IsMember({"viridis", "cividis", "magma", "greys"}))
        ->capture_default_str();
    command->add_option("--theme", options->view.theme)
        ->check(CLI::IsMember({"light", "dark", "projector"}))
        ->capture_default_str();
    command->add_option("--width", options->view.width, "pixels")->check(CLI::Range(100, 10000))->capture_default_str();
    command->add_option("--height", options->view.height, "pixels")
        ->check(CLI::Range(100, 10000))
        ->capture_default_str();
    command->footer("Example:\n  attention-cli render builtin:induction --prompt 'the cat sat on the cat' --layer 1 "
                    "--head 0 --out head.svg\n"
                    "  attention-cli render models/deit-tiny --image cat.jpg --view rollout --out rollout.png\n"
                    "  attention-cli render models/deit-tiny --image cat.jpg --view rollout --class 'tabby, tabby cat' "
                    "--out why.png");
    command->callback([=, &run] {
        run = [=] {
            return options->picture.image.empty() ? renderText(*options)
                                                  : renderVision(options->model, options->picture, options->view);
        };
    });
}

} // namespace attn::cli
