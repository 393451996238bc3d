#include "app/cli/analysis_options.h"

#include "app/arguments/numbers.h"
#include "app/figures/heatmap_figure.h"
#include "app/figures/lens_answer.h"
#include "app/figures/lens_pages.h"
#include "app/figures/matrix_figure.h"
#include "app/figures/scale.h"
#include "app/figures/thumbnail_grid_figure.h"
#include "app/figures/token_label.h"
#include "app/figures/vision_figures.h"
#include "engine/analysis/attention_rollout.h"
#include "engine/analysis/whole_run.h"
#include "engine/core/error.h"
#include "engine/inference/finite_count.h"
#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"

#include <fmt/format.h>

#include <optional>

namespace attn::cli {
namespace {

struct RenderOptions {
    AnalysisOptions asked;
    std::string view = "attention", lens, from, out, colours = "viridis", theme = "light", patch, fusion = "mean",
                label, hook;
    int site = 0, head = 0, position = -1, width = 1000, height = 1000;
    double discard = 0, opacity = 0.6;
    bool isSmooth = false;
};

bool isText(const RenderOptions& options) { return options.asked.picture.image.empty(); }

/// A whole number, -1 for anything else.
int wholeNumber(std::string_view text) {
    const auto numbers = wholeNumbers(text, "");
    return numbers && numbers->size() == 1 && numbers->front() >= 0 ? static_cast<int>(numbers->front()) : -1;
}

/// Reads the query: "cls", "mean", "7" or "2,5" (row, column). If empty, CLS or else the mean.
/// @throws Error that names the valid queries
void readQuery(VisionLook& look, const std::string& text, const ModelInfo& info) {
    const bool hasCls = !info.prefix.empty() && info.prefix.front() == "CLS";
    if (hasCls && (text.empty() || text == "cls")) return;
    look.isMean = text.empty() || text == "mean";
    if (look.isMean) return;
    const auto columns = static_cast<int>(info.grid.width), rows = static_cast<int>(info.grid.height);
    const size_t comma = text.find(',');
    int row = -1, column = -1;
    if (comma != text.npos) {
        row = wholeNumber(std::string_view(text).substr(0, comma));
        column = wholeNumber(std::string_view(text).substr(comma + 1));
    } else if (const int patch = wholeNumber(text); patch >= 0) {
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

std::vector<QString> labelsOf(std::span<const int> ids, const Tokenizer* tokenizer) {
    std::vector<QString> labels;
    for (const int id : ids)
        labels.push_back(tokenLabel({.id = id, .text = tokenizer ? tokenizer->tokenText(id) : std::string()}));
    return labels;
}

/// The labels of a text, or of the source if the stream's rows belong to it.
std::vector<QString> labelsOf(const Asked& asked, int stream = -1) {
    const auto& model = static_cast<const LanguageModel&>(asked.model());
    if (model.info().readsSource && stream == 0) return labelsOf(asked.input().source(), model.sourceTokenizer());
    return labelsOf(asked.input().tokens(), model.tokenizer());
}

std::shared_ptr<const Rollout> rollout(const Asked& asked, const RenderOptions& options,
                                       const std::vector<SitePattern>* patterns) {
    RolloutAnalysis analysis;
    if (!options.label.empty()) analysis.target = LogitTarget{.token = asked.choiceNamed(options.label, "--class")};
    analysis.options = {.fusion = options.fusion == "max"   ? HeadFusion::Maximum
                                  : options.fusion == "min" ? HeadFusion::Minimum
                                                            : HeadFusion::Mean,
                        .discard = options.discard};
    return std::static_pointer_cast<const Rollout>(
        runAnalysis(asked.model(), {.input = asked.input(), .patterns = patterns}, analysis));
}

std::unique_ptr<Figure> rolloutOfText(const Asked& asked, const RenderOptions& options) {
    const auto found = rollout(asked, options, nullptr);
    auto figure = std::make_unique<MatrixFigure>();
    figure->title = QStringLiteral("Rollout");
    figure->rowTitle = QStringLiteral("token after the last layer");
    figure->columnTitle = QStringLiteral("input token");
    figure->kind = MatrixFigure::Kind::Weights;
    const auto tokens = static_cast<int>(found->map.rows.tokens);
    figure->setMatrix(tokens, tokens, visibleWeights(found->map.values, tokens));
    figure->rowLabels = figure->columnLabels = labelsOf(asked);
    return figure;
}

std::unique_ptr<Figure> headFigure(const Asked& asked, LanguageModel& model, const RenderOptions& options) {
    auto heatmap = std::make_unique<HeatmapFigure>();
    heatmap->tile = std::make_shared<PatternTile>(
        model.patterns().tile({.site = options.site, .head = options.head, .detailSize = 2048}));
    const ModelStructure& structure = model.info().structure;
    heatmap->title = headTitle({.site = options.site, .head = options.head},
                               QString::fromStdString(structure.labelOf(options.site))) +
                     resolutionText(heatmap->tile.get());
    heatmap->colours = colourMapFromKey(QString::fromStdString(options.colours));
    heatmap->queryCount = model.queryCount(options.site);
    heatmap->keyCount = model.keyCount(options.site);
    const Site& site = model.info().site(options.site);
    heatmap->setLabels(labelsOf(asked, site.queryStream), labelsOf(asked, site.keyStream));
    return heatmap;
}

std::unique_ptr<Figure> headsFigure(LanguageModel& model, const RenderOptions& options) {
    auto grid = std::make_unique<ThumbnailGridFigure>();
    grid->readoutRows = std::make_shared<ReadoutRows>(model.patterns().readoutRows());
    grid->keyValueHeads = model.info().structure.sites.front().keyValueHeads;
    for (int site = 0; site < model.info().siteCount(); ++site)
        grid->siteLabels.push_back(QString::fromStdString(model.info().structure.labelOf(site)));
    grid->colours = colourMapFromKey(QString::fromStdString(options.colours));
    grid->selected = {options.site, options.head};
    grid->setGrid(std::make_shared<PatternGrid>(model.patterns().grid(128)));
    return grid;
}

std::unique_ptr<Figure> textFigure(const Asked& asked, const RenderOptions& options) {
    if (options.view == "rollout") return rolloutOfText(asked, options);
    LanguageModel& model = languageModel(asked.model());
    model.setSides(asked.input().text());
    model.feed(asked.input().tokens());
    requireAnswer(model);
    return options.view == "heads" ? headsFigure(model, options) : headFigure(asked, model, options);
}

std::unique_ptr<Figure> pictureFigure(const Asked& asked, const RenderOptions& options) {
    VisionModel& model = visionModel(asked.model());
    const ModelInfo& info = model.info();
    VisionLook look{.isRollout = options.view == "rollout",
                    .site = options.site,
                    .head = options.head,
                    .colours = colourMapFromKey(QString::fromStdString(options.colours)),
                    .opacity = options.opacity,
                    .isSmooth = options.isSmooth};
    readQuery(look, options.patch, info);
    const Image seen = model.seen(asked.picture());
    const std::optional<int> layer = options.view == "attention" ? std::optional(look.site) : std::nullopt;
    const auto patterns = model.patternsAndLogits(asked.input(), layer).patterns;
    if (info.classes > 0) requireLogits(model.predict(asked.input()), info.name, info.activation);
    PictureRun run{.model = &info, .seen = &seen, .patterns = patterns};
    if (options.view == "heads") {
        auto figure = std::make_unique<HeadOverlaysFigure>(headOverlaysFigure(run, look));
        figure->chosen = options.site * info.heads + options.head;
        return figure;
    }
    std::shared_ptr<const Rollout> rolled;
    if (look.isRollout) {
        rolled = rollout(asked, options, &patterns);
        run.rollout = &rolled->map;
        if (rolled->target) run.rolloutClass = rolled->target->token;
    } else if (patterns[static_cast<size_t>(look.site)].values.empty()) {
        throw Error({.what = fmt::format("layer {} forms no pattern", look.site),
                     .where = info.name,
                     .hint = "choose a layer whose attention forms a pattern"});
    }
    return std::make_unique<PatchOverlayFigure>(overlayFigure(run, look));
}

std::unique_ptr<Figure> attentionFigure(const Asked& asked, const RenderOptions& options) {
    const ModelInfo& info = asked.info();
    const bool isLayer = options.site >= 0 && options.site < info.siteCount();
    const int heads = isLayer ? info.site(options.site).heads : info.heads;
    if (!isLayer || options.head < 0 || options.head >= heads)
        throw Error({.what = fmt::format("there is no layer {}, head {}", options.site, options.head),
                     .where = info.name,
                     .hint = fmt::format("choose a layer from 0 to {} and a head from 0 to {}", info.siteCount() - 1,
                                         heads - 1)});
    return asked.isText() ? textFigure(asked, options) : pictureFigure(asked, options);
}

const LensPage& pageOf(const RenderOptions& options) {
    if (const LensPage* page = lensPageNamed(options.lens)) return *page;
    std::string known;
    for (const LensPage& page : lensPages()) known += (known.empty() ? "" : ", ") + std::string(page.id);
    throw Error({.what = options.lens.empty() ? "--view lens needs the name of a lens"
                                              : fmt::format("there is no lens \"{}\"", options.lens),
                 .where = "--lens",
                 .hint = "choose one of " + known});
}

/// Refuses options that the view does not read, or the lens that it shows. @throws Error
void requireRead(const Command& command, const RenderOptions& options) {
    const std::string with = "--view " + options.view;
    const bool isLens = options.view == "lens", isRollout = options.view == "rollout";
    if (!isRollout) refuseIdle(command, {"--fusion", "--discard", "--class"}, with, "--view rollout");
    if (!options.label.empty())
        refuseIdle(command, {"--fusion", "--discard"}, "--class, which weights heads by gradients",
                   "a rollout without a class");
    if (isRollout) refuseIdle(command, {"--layer", "--head"}, with, "--view attention, heads and lens");
    if (isLens || (isRollout && isText(options)))
        refuseIdle(command, {"--colours"}, isLens ? with : with + " of a text",
                   "--view attention and heads, and for the rollout of a picture");
    if (isLens)
        refuseIdle(command, {"--patch", "--opacity", "--smooth"}, with, "--view attention, heads and rollout");
    else
        refuseIdle(command, {"--lens", "--hook", "--position", "--target", "--against", "--from"}, with, "--view lens");
    if (isText(options)) refuseIdle(command, {"--patch", "--opacity", "--smooth"}, "a text", "pictures");
    if (!isLens) return;
    const LensPage& page = pageOf(options);
    const auto require = [&](bool LensPage::*reads, std::initializer_list<std::string_view> names) {
        if (page.*reads) return;
        std::string others;
        for (const LensPage& each : lensPages())
            if (each.*reads) others += (others.empty() ? "" : ", ") + std::string(each.id);
        refuseIdle(command, names, fmt::format("--lens {}", page.id), "--lens " + others);
    };
    require(&LensPage::usesHead, {"--layer", "--head"});
    if (!page.hooks) refuseIdle(command, {"--hook"}, fmt::format("--lens {}", page.id), "--lens values and patching");
    require(&LensPage::usesPosition, {"--position"});
    require(&LensPage::usesTarget, {"--target", "--against"});
    require(&LensPage::usesOther, {"--from"});
    if (page.hooks) refuseIdle(command, {"--head"}, "a hook, which holds all heads of a layer", "--lens weighted");
    if (page.id == std::string_view("storage"))
        refuseIdle(command, {"--storage"}, "a lens that opens every storage", "other lenses");
}

/// @throws Error if the lens copies values from another input, and none is named
void requireSource(const RenderOptions& options) {
    if (pageOf(options).usesOther && options.from.empty())
        throw Error({.what = fmt::format("the lens \"{}\" copies values from another {}", options.lens,
                                         isText(options) ? "text" : "picture"),
                     .where = "--lens",
                     .hint = "name it with --from"});
}

std::unique_ptr<Figure> lensFigure(const Asked& asked, const RenderOptions& options) {
    const LensPage& page = pageOf(options);
    const ModelInfo& info = asked.info();
    const bool needsTarget = page.usesTarget;
    const auto result = asked.runAny(*page.make({.site = options.site,
                                                 .head = options.head,
                                                 .position = options.position,
                                                 .target = needsTarget ? asked.target() : LogitTarget{},
                                                 .text = options.from,
                                                 .hook = options.hook}));
    std::optional<Image> seen;
    std::vector<SitePattern> patterns;
    if (!asked.isText()) {
        VisionModel& model = visionModel(asked.model());
        seen = model.seen(asked.picture());
        patterns = model.patternsAndLogits(asked.input()).patterns;
    }
    const LensSubject subject{.model = info,
                              .axis = seen ? PictureRun{.model = &info, .seen = &*seen}.axis()
                                           : inputAxis(info, labelsOf(asked)),
                              .patterns = patterns};
    auto figure = std::make_unique<LensFigure>();
    figure->answer = page.show(*result, subject);
    if (page.overlay && seen) figure->overlay = page.overlay(*result, subject, {});
    if (!figure->numbers().empty()) return figure;
    throw Error({.what = fmt::format("the lens \"{}\" draws nothing: it gives names", options.lens),
                 .where = {},
                 .hint = "see attention-cli lens and attention-cli detect"});
}

} // namespace

void addRender(Command& command) {
    const auto options = std::make_shared<RenderOptions>();
    command.about("Draws attention or the result of a lens, for a prompt or a picture, as the window draws it.");
    options->asked.addTo(command);
    command
        .option("--view VIEW", options->view,
                "attention: one head; heads: all heads; rollout: through all layers; lens: the result of --lens")
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
    command.option(
        "--class CLASS", options->label,
        "weight rollout by the gradient of this class (number or label), or of this token after the last one; "
        "it has no --fusion and --discard");
    command.option("--lens LENS", options->lens,
                   "lens of the Lenses panel: logit, attribution, gradients, flow, weighted, values, spans, "
                   "composition, formed, storage, layer_kinds, ablation, head_patching or patching");
    command
        .option("--hook HOOK", options->hook,
                "hook that the lens values shows, such as blocks.0.attn.hook_state, in the layer of --layer; or that "
                "the lens patching copies in every layer, such as attn.hook_z")
        .defaultText("the state of a recurrent layer, else the residual stream after it; of patching, before it");
    command.option("--position N", options->position,
                   "token that the lens explains; -1: the one that the answer is read from");
    options->asked.addTargetTo(command);
    command.option("--from INPUT", options->from,
                   "text or picture that the lenses patching and head_patching copy from");
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
    command.action([=, &command] {
        requireRead(command, *options);
        const bool isLens = options->view == "lens";
        if (isLens) requireSource(*options);
        const Asked asked(options->asked, "render", isLens ? options->from : "");
        if (isLens && pageOf(*options).usesTarget) asked.refusePosition(command);
        const auto figure = isLens ? lensFigure(asked, *options) : attentionFigure(asked, *options);
        writeFigure(*figure, {options->width, options->height}, options->out, options->theme);
        return kDone;
    });
}

} // namespace attn::cli
