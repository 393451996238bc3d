#include "app/figures/vision_figures.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>

namespace attn {
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
    // The range starts at the least similar pair. With the paper's -1 to 1, very similar positions would look equal.
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
