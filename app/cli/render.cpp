#include "app/cli/command.h"

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
    std::string view = "attention", out, colours = "viridis", theme = "light";
    int layer = 0, head = 0, width = 1000, height = 1000;
};

std::vector<QString> labelsOf(const LanguageModel& model) {
    std::vector<QString> labels;
    for (int id : model.tokens())
        labels.push_back(
            tokenLabel({.id = id, .text = model.tokenizer() ? model.tokenizer()->tokenText(id) : std::string()}));
    return labels;
}

int render(const Options& options) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    int argc = 1;
    std::string name = "attention-cli";
    char* argv[] = {name.data(), nullptr};
    const QGuiApplication application(argc, argv); // fonts need one

    const auto model = options.model.open(true);
    const ModelInfo& info = model->info();
    if (options.layer < 0 || options.layer >= info.layers || options.head < 0 || options.head >= info.heads)
        throw Error({.what = fmt::format("there is no layer {} head {}", options.layer, options.head),
                     .where = info.name,
                     .hint = fmt::format("layers are 0 to {}, heads 0 to {}", info.layers - 1, info.heads - 1)});
    model->feed(options.prompt.encode(*model));

    const FigureTheme theme = options.theme == "dark"        ? FigureTheme::dark()
                              : options.theme == "projector" ? FigureTheme::projector()
                                                             : FigureTheme::light();
    const ColourMapId colours = colourMapFromKey(QString::fromStdString(options.colours));
    std::unique_ptr<Figure> figure;
    if (options.view == "attention") {
        auto heatmap = std::make_unique<HeatmapFigure>();
        heatmap->tile = std::make_shared<PatternTile>(
            model->patternTile({.layer = options.layer, .head = options.head, .detailSize = 2048}));
        heatmap->title = QString("Layer %1  Head %2").arg(options.layer).arg(options.head);
        heatmap->colours = colours;
        heatmap->tokenCount = static_cast<int>(model->tokens().size());
        heatmap->setLabels(labelsOf(*model));
        figure = std::move(heatmap);
    } else {
        auto grid = std::make_unique<ThumbnailGridFigure>();
        grid->newest = std::make_shared<NewestRows>(model->newestRows());
        grid->keyValueHeads = info.keyValueHeads;
        grid->colours = colours;
        grid->selected = {options.layer, options.head};
        grid->setGrid(std::make_shared<PatternGrid>(model->patternGrid(128)));
        figure = std::move(grid);
    }
    if (const auto failure =
            exportFigure(*figure, theme, {options.width, options.height}, QString::fromStdString(options.out)))
        throw Error({.what = failure->what, .where = failure->where, .hint = failure->hint});
    return kDone;
}

} // namespace

void addRender(CLI::App& app, Run& run) {
    CLI::App* command = app.add_subcommand("render", "draw a view to a picture, as the application shows it");
    const auto options = std::make_shared<Options>();
    options->model.addTo(*command);
    options->prompt.addTo(*command);
    command->add_option("--view", options->view, "attention (one head) or heads (all of them)")
        ->check(CLI::IsMember({"attention", "heads"}))
        ->capture_default_str();
    command->add_option("--layer", options->layer)->capture_default_str();
    command->add_option("--head", options->head)->capture_default_str();
    command->add_option("--out", options->out, "file to write: .png, .svg or .pdf")->required();
    command->add_option("--colours", options->colours)
        ->check(CLI::IsMember({"viridis", "cividis", "magma", "greys"}))
        ->capture_default_str();
    command->add_option("--theme", options->theme)
        ->check(CLI::IsMember({"light", "dark", "projector"}))
        ->capture_default_str();
    command->add_option("--width", options->width, "pixels")->check(CLI::Range(100, 10000))->capture_default_str();
    command->add_option("--height", options->height, "pixels")->check(CLI::Range(100, 10000))->capture_default_str();
    command->footer("Example:\n  attention-cli render builtin:induction --prompt 'the cat sat on the cat' --layer 1 "
                    "--head 0 --out head.svg");
    command->callback([=, &run] { run = [=] { return render(*options); }; });
}

} // namespace attn::cli
