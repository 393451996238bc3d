#include "app/figures/vision_figures.h"

#include "app/figures/head_label.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

struct VisionLookText {
    Q_DECLARE_TR_FUNCTIONS(attn::VisionLook)
};

/// @return the query's row on the axis; none for the mean of all patches
std::optional<int> queryOf(const ModelInfo& info, const VisionLook& look) {
    if (look.patch) return static_cast<int>(info.prefix.size()) + *look.patch;
    return info.prefix.empty() || look.isMean ? std::nullopt : std::optional(0);
}

/// @return the tokens before the patches: "CLS", "CLS and registers"
QString otherTokens(const ModelInfo& info) {
    QStringList names;
    for (const std::string& token : info.prefix) {
        const QString name =
            token.starts_with("register") ? VisionLookText::tr("registers") : QString::fromStdString(token);
        if (!names.contains(name)) names << name;
    }
    const QString last = names.takeLast();
    return names.isEmpty() ? last : VisionLookText::tr("%1 and %2").arg(names.join(QStringLiteral(", ")), last);
}

QString nameOf(const PictureRun& run, const VisionLook& look) {
    const ModelInfo& info = *run.model;
    if (look.isRollout && run.rolloutClass)
        return VisionLookText::tr("rollout for “%1”").arg(QString::fromStdString(info.labelOf(*run.rolloutClass)));
    if (look.isRollout)
        return info.layers == 1 ? VisionLookText::tr("rollout of 1 layer")
                                : VisionLookText::tr("rollout of %1 layers").arg(info.layers);
    if (look.head == VisionLook::Mean) return VisionLookText::tr("%1, mean of heads").arg(layerLabel(look.site));
    if (look.head == VisionLook::Maximum) return VisionLookText::tr("%1, maximum of heads").arg(layerLabel(look.site));
    return headLabel(look.site, look.head);
}

} // namespace

PatchRow rowOf(const PictureRun& run, const VisionLook& look) {
    if (!run.model || (look.patch && *look.patch >= run.model->grid.area())) return {};
    const std::optional<int> token = queryOf(*run.model, look);
    if (look.isRollout) return run.rollout ? patchRow(*run.rollout, token) : PatchRow{};
    const auto layer = static_cast<size_t>(look.site);
    if (layer >= run.patterns.size()) return {};
    const SitePattern& pattern = run.patterns[layer];
    if (pattern.values.empty() || look.head >= pattern.heads) return {};
    if (look.head < 0)
        return fusedPatchRow(pattern, token, look.head == VisionLook::Mean ? HeadFusion::Mean : HeadFusion::Maximum);
    return patchRow(pattern, look.head, token);
}

PatchOverlayFigure overlayFigure(const PictureRun& run, const VisionLook& look) {
    if (!run.seen) return {};
    const ModelInfo& info = *run.model;
    const AxisDisplay axis = run.axis();
    PatchRow row = rowOf(run, look);
    const bool hasRow = !row.patches.empty();
    if (!hasRow) row.patches.assign(static_cast<size_t>(info.grid.area()), 0);
    PatchOverlayFigure figure =
        axis.overlay(std::move(row.patches),
                     hasRow && !look.isRollout ? &run.patterns[static_cast<size_t>(look.site)].layout : nullptr);
    figure.colours = look.colours;
    figure.opacity = look.opacity;
    figure.isSmooth = look.isSmooth;
    if (hasRow) figure.marked = look.patch;
    const std::optional<int> query = queryOf(info, look);
    figure.title = VisionLookText::tr("From %1: %2")
                       .arg(query ? axis.nameOf(*query) : VisionLookText::tr("mean of all patches"), nameOf(run, look));
    if (!hasRow)
        figure.note = look.isRollout ? VisionLookText::tr("A layer of this model forms no pattern.")
                                     : VisionLookText::tr("There is no pattern for this choice.");
    else if (look.isRollout && run.rolloutClass)
        figure.note = VisionLookText::tr("relevance: attention that raises the class");
    else if (!info.prefix.empty())
        figure.note = VisionLookText::tr("%1 % of attention goes to %2")
                          .arg(row.elsewhere * 100, 0, 'f', 1)
                          .arg(otherTokens(info));
    return figure;
}

HeadOverlaysFigure headOverlaysFigure(const PictureRun& run, const VisionLook& look, const PictureRun* original) {
    HeadOverlaysFigure figure;
    if (!run.seen) return figure;
    const AxisDisplay axis = run.axis();
    figure.heads = run.model->heads;
    figure.picture = axis.picture;
    VisionLook each = look;
    each.isRollout = false;
    for (each.site = 0; each.site < std::ssize(run.patterns); ++each.site) {
        std::vector<PatchOverlayFigure>& layer = figure.layers.emplace_back();
        for (each.head = 0; each.head < run.model->site(each.site).heads; ++each.head) {
            PatchRow row = rowOf(run, each);
            if (row.patches.empty()) break; // the layer forms no pattern
            PatchOverlayFigure& overlay =
                layer.emplace_back(axis.overlay(original ? difference(row, rowOf(*original, each)) : row.patches));
            overlay.isSigned = original != nullptr;
            overlay.colours = look.colours;
            overlay.opacity = look.opacity;
            overlay.isSmooth = look.isSmooth;
            overlay.isBare = true;
        }
    }
    return figure;
}

PatchOverlayFigure differenceFigure(const PictureRun& changed, const PictureRun& original, const VisionLook& look) {
    PatchOverlayFigure figure = overlayFigure(changed, look);
    if (figure.isEmpty()) return figure;
    const PatchRow after = rowOf(changed, look), before = rowOf(original, look);
    if (after.patches.size() != before.patches.size()) return figure;
    figure.isSigned = true;
    figure.opacity = std::max(look.opacity, 0.75);
    figure.setValues(figure.rows(), figure.columns(), difference(after, before));
    figure.title = VisionLookText::tr("%1: changed − original").arg(figure.title);
    return figure;
}

namespace {

struct VisionFiguresText {
    Q_DECLARE_TR_FUNCTIONS(attn::VisionFigures)
};

QString waitingText(const PictureRun& run) {
    return run.model ? VisionFiguresText::tr("Reading the parameters…")
                     : VisionFiguresText::tr("Open a vision model first.");
}

} // namespace

std::unique_ptr<DistanceFigure> distanceFigure(const PictureRun& run, int layer, int head, const PictureRun* original) {
    auto figure = std::make_unique<DistanceFigure>();
    figure->title = VisionFiguresText::tr("Attention distance");
    if (!run.seen) {
        figure->note = VisionFiguresText::tr("Open a vision model and a picture to see how far each head looks.");
        return figure;
    }
    const ModelInfo& info = *run.model;
    figure->heads = info.heads;
    figure->distances.assign(run.distances.begin(), run.distances.end());
    figure->farthest = std::hypot(static_cast<double>(info.image.height), static_cast<double>(info.image.width));
    const bool isEmpty = std::ranges::all_of(figure->distances, &std::vector<float>::empty);
    if (isEmpty) figure->distances.clear();
    figure->note = isEmpty ? VisionFiguresText::tr("No layer of this model forms a pattern.")
                           : VisionFiguresText::tr("mean distance in pixels; the picture's diagonal is %1")
                                 .arg(qRound(figure->farthest));
    if (original && !isEmpty) {
        figure->title = VisionFiguresText::tr("Attention distance: changed − original");
        figure->note = VisionFiguresText::tr("difference of the mean distances in pixels");
        figure->lowest = -figure->farthest;
        for (size_t at = 0; at < figure->distances.size(); ++at)
            std::ranges::transform(figure->distances[at], original->distances[at], figure->distances[at].begin(),
                                   std::minus());
    }
    if (head >= 0 && layer < figure->layers() && figure->has(figure->itemOf(layer, head)))
        figure->chosen = figure->itemOf(layer, head);
    return figure;
}

std::unique_ptr<TilesFigure> positionsFigure(const PictureRun& run) {
    auto figure = std::make_unique<TilesFigure>();
    figure->title = VisionFiguresText::tr("Position similarity");
    figure->emptyText = waitingText(run);
    if (!run.model || !run.embedding) return figure;
    const ModelInfo& info = *run.model;
    const std::vector<float>& similarity = run.embedding->similarity;
    if (similarity.empty()) {
        figure->emptyText = VisionFiguresText::tr(
            "This model adds no position embeddings: only its attention can depend on where a patch is.");
        return figure;
    }
    figure->note =
        VisionFiguresText::tr("cosine similarity of %1 position embeddings")
            .arg(info.positions == "learned" ? VisionFiguresText::tr("learned") : VisionFiguresText::tr("sinusoidal"));
    const auto rows = static_cast<int>(info.grid.height), columns = static_cast<int>(info.grid.width);
    const auto count = static_cast<size_t>(rows * columns);
    figure->columns = columns;
    // The range starts at the least similar pair. With the paper's range of -1 to 1, similar positions would look
    // equal.
    const double lowest = static_cast<double>(*std::ranges::min_element(similarity));
    figure->range = std::pair(std::min(lowest, 0.999), 1.0);
    for (size_t patch = 0; patch < count; ++patch) {
        figure->tiles.push_back(tileOf(std::span(similarity).subspan(patch * count, count), rows, columns,
                                       *figure->range, figure->colours));
        figure->names.push_back(VisionFiguresText::tr("Patch %1, %2")
                                    .arg(static_cast<int>(patch) / columns)
                                    .arg(static_cast<int>(patch) % columns));
    }
    figure->data = {.name = "position_similarity",
                    .shape = {static_cast<int64_t>(count), static_cast<int64_t>(count)},
                    .values = similarity};
    return figure;
}

std::unique_ptr<TilesFigure> filtersFigure(const PictureRun& run, bool showsRaw) {
    auto figure = std::make_unique<TilesFigure>();
    figure->emptyText = waitingText(run);
    figure->title = showsRaw ? VisionFiguresText::tr("Patch filters")
                             : VisionFiguresText::tr("Principal components of the filters");
    if (!run.model || !run.embedding) return figure;
    const ModelInfo& info = *run.model;
    const PrincipalComponents& components = run.embedding->filters;
    const std::vector<float>& values = showsRaw ? run.embedding->rawFilters : components.components;
    const auto each = static_cast<size_t>(info.channels * info.patch * info.patch), count = values.size() / each;
    if (count == 0) {
        figure->emptyText = VisionFiguresText::tr("A single filter has no principal components.");
        return figure;
    }
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
        figure->tiles.push_back(
            tileOf(std::span(values).subspan(i * each, each), info.channels, info.patch, info.patch));
        const auto number = static_cast<int>(i);
        if (showsRaw) {
            figure->names.push_back(VisionFiguresText::tr("Filter %1").arg(number));
        } else {
            figure->names.push_back(VisionFiguresText::tr("Component %1: %2 % of the variance")
                                        .arg(number)
                                        .arg(components.shares[i] * 100, 0, 'f', 1));
            sum += components.shares[i];
        }
    }
    figure->note = showsRaw
                       ? VisionFiguresText::tr("%1 filters, each scaled to its own range").arg(count)
                       : VisionFiguresText::tr("%1 components with %2 % of the variance, each scaled to its own range")
                             .arg(count)
                             .arg(sum * 100, 0, 'f', 1);
    figure->data = {.name = showsRaw ? "filters" : "filter_components",
                    .shape = {static_cast<int64_t>(count), info.channels, info.patch, info.patch},
                    .values = values};
    return figure;
}

} // namespace attn
