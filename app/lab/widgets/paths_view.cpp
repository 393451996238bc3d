#include "app/lab/widgets/paths_view.h"

#include "app/figures/drawing.h"
#include "app/figures/map_figure.h"
#include "app/lab/widgets/lines_view.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/plot_grid.h"
#include "app/lab/widgets/widget_makers.h"

#include <QPushButton>

#include <array>

namespace attn {
namespace {

/// The maps with the path that makes each. Both paths make the output.
struct PathMap {
    const char* name;
    bool ofTiles, ofFormed;
};
constexpr std::array kPathMaps{PathMap{"tiles.walked", true, false}, PathMap{"tiles.largest", true, false},
                               PathMap{"tiles.sum", true, false},    PathMap{"scores", false, true},
                               PathMap{"pattern", false, true},      PathMap{"z", true, true}};

QString kib(double bytes) { return PathsView::tr("%1 KiB").arg(formatNumber(bytes / 1024, bytes < 102400 ? 1 : 0)); }

} // namespace

PathsView::PathsView(QWidget* parent) : QWidget(parent) {
    switch_ = helped(new QPushButton(tr("Form the pattern")), "switchPath",
                     tr("Compute the same output by the other path: with all scores and weights in memory, or tile by "
                        "tile"));
    summary_ = makeTextLabel("pathSummary");
    reading_ = makeHintLabel("pathReading");
    bytes_ = identified(new LinesView(this), "pathBytes");
    grid_ = new PlotGrid("pathPlots");
    for (const PathMap& each : kPathMaps) {
        auto* view = identified(new MatrixView(this), QStringLiteral("path.") + QLatin1String(each.name));
        view->hide();
        maps_.push_back(view);
        connect(view, &MatrixView::pointedAt, this, [this, view](const std::optional<MatrixCell>& cell) {
            lastUsed_ = view;
            reading_->setText(cell ? readingOf(view->figure(), *cell) : QString());
        });
    }
    connect(bytes_, &LinesView::pointedAt, this, [this] {
        lastUsed_ = nullptr;
        reading_->setText(bytes_->reading());
    });
    bytes_->hide();
    makeColumn(this, spacing::kTight, {makeRow({switch_, {summary_, 1}}), {grid_, 1}, reading_});
    connect(switch_, &QPushButton::clicked, this, [this] {
        path_ = path_ == AttentionPath::Tiled ? AttentionPath::Formed : AttentionPath::Tiled;
        switch_->setText(path_ == AttentionPath::Tiled ? tr("Form the pattern") : tr("Walk over tiles"));
        emit queryChanged();
    });
    switch_->hide();
}

void PathsView::showPaths(const std::shared_ptr<const PlaygroundSnapshot>& snapshot, int head) {
    const auto& paths = snapshot->paths;
    switch_->setVisible(paths.has_value());
    lastUsed_ = nullptr;
    if (!paths) {
        summary_->setText(tr("The fused kernel cannot walk over tiles of this attention, so its scores are always "
                             "formed. It needs a softmax of dot products or cosines, a bias that depends only on the "
                             "distance, and at most %1 tokens to show here.")
                              .arg(kMostWholeTokens));
        return grid_->setPlots({});
    }
    say(*paths);
    showBytes(paths->traffic);
    std::vector<QWidget*> shown{bytes_};
    for (size_t i = 0; i < maps_.size(); ++i) {
        const PathMap& own = kPathMaps[i];
        const PlaygroundMap* map = i == 0 ? &paths->traffic.walked : findMap(snapshot->maps, own.name);
        if (!map || !(path_ == AttentionPath::Tiled ? own.ofTiles : own.ofFormed)) continue;
        showMap(maps_[i], map, snapshot->query.spec, head);
        shown.push_back(maps_[i]);
    }
    grid_->setPlots(shown);
}

void PathsView::say(const PathComparison& paths) {
    const PathTraffic& traffic = paths.traffic;
    const QString now = path_ == AttentionPath::Tiled ? tr("This output was computed by tiles.")
                                                      : tr("This output was computed from the formed pattern.");
    summary_->setText(
        tr("%1 The outputs of both paths differ by at most %2; the largest number in them is %3. The tiles move %4, "
           "the "
           "formed path moves %5. Without a cache for keys and values, each block of 8 queries would read its keys "
           "again: %6.")
            .arg(now, formatShort(paths.largestDifference, 2), formatShort(paths.largestOutput, 3),
                 kib(traffic.tiles.total()), kib(traffic.formed.total()),
                 kib(traffic.uncachedRead + traffic.tiles.written)));
}

void PathsView::showBytes(const PathTraffic& traffic) {
    LinesFigure figure;
    figure.title = tr("Bytes moved, in KiB");
    figure.note = tr("from the plans of both paths: each operation reads its inputs and writes its results once");
    figure.placeTitle = tr("path");
    figure.placeNames = {tr("tiles: read"), tr("tiles: write"), tr("formed: read"), tr("formed: write")};
    figure.isBars = true;
    figure.lines = {{.label = tr("KiB"), .values = {}}};
    for (const double bytes : {traffic.tiles.read, traffic.tiles.written, traffic.formed.read, traffic.formed.written})
        figure.lines.front().values.push_back(static_cast<float>(bytes / 1024));
    bytes_->setToolTip(figure.note);
    bytes_->setFigure(std::move(figure));
}

void PathsView::showMap(MatrixView* view, const PlaygroundMap* map, const AttentionSpec& spec, int head) {
    MatrixFigure figure = mapFigure(*map, spec, head, 0, labels_);
    view->setToolTip(figure.note);
    view->setFigure(std::move(figure));
}

void PathsView::setTheme(const FigureTheme& theme) {
    bytes_->setTheme(theme);
    for (MatrixView* view : maps_) view->setTheme(theme);
}

const Figure& PathsView::current() const {
    if (lastUsed_ && lastUsed_->isVisibleTo(this)) return lastUsed_->figure();
    return bytes_->figure();
}

} // namespace attn
