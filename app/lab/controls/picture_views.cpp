#include "app/lab/controls/picture_views.h"

#include "app/figures/head_overlays_figure.h"
#include "app/figures/vision_figures.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/picture_bench.h"
#include "app/lab/workbench/snapshot_views.h"

namespace attn {

PictureView::PictureView(const char* id, bool showsHead, Workbench& bench) : bench_(bench), showsHead_(showsHead) {
    setObjectName(QString::fromLatin1(id));
    PictureBench& pictures = bench.pictures();
    connect(this, &PatchOverlayView::pointedAt, &pictures, &PictureBench::point);
    connect(this, &PatchOverlayView::chosen, &pictures, &PictureBench::togglePatch);
    connect(this, &PatchOverlayView::crossed, &pictures, &PictureBench::crossed);
    connect(this, &PatchOverlayView::crossingEnded, &pictures, &PictureBench::crossingEnded);
    connect(&pictures, &PictureBench::brushChanged, this,
            [this] { setHiding(bench_.pictures().brush() != PictureBench::Brush::None); });
    connect(&pictures, &PictureBench::lookChanged, this, &PictureView::show);
    connect(&bench, &Workbench::shownRunChanged, this, &PictureView::show);
    connect(&bench, &Workbench::snapshotChanged, this, &PictureView::show);
    followTheme(bench, this);
}

void PictureView::show() {
    if (!bench_.reads(AxisKind::Patches)) return;
    const Snapshot& snapshot = *bench_.snapshot();
    VisionLook look = bench_.pictures().look();
    if (showsHead_) {
        look.head = bench_.selection().head;
        look.isRollout = false;
    }
    const bool isDifference = bench_.shownRun() == ShownRun::Difference && snapshot.originalAnswer && snapshot.answer;
    PatchOverlayFigure figure = isDifference ? differenceFigure(pictureRun(snapshot), pictureRun(snapshot, true), look)
                                             : overlayFigure(pictureRun(snapshot), look);
    if (look.isRollout && !pictureRun(snapshot).rollout) {
        const QString problem = failureIn(snapshot, RolloutAnalysis{}.key());
        figure.note = problem.isEmpty() ? tr("Computing the rollout…") : problem;
    }
    if (!look.isRollout && look.head >= 0) figure.title += bench_.conditionOf(look.site, look.head);
    figure.marked = bench_.selection().row;
    figure.hovered = bench_.pictures().pointed();
    setFigure(std::move(figure));
}

PictureHeads::PictureHeads(const char* id, Kind kind, Workbench& bench)
    : PointedView(kind == Kind::Overlays ? tr("Every head of every layer") : tr("Attention distance of every head")),
      kind_(kind), bench_(bench) {
    setObjectName(QString::fromLatin1(id));
    connect(this, &PointedView::chosen, this, [this](int item) { // both number the heads of layer 0 first
        if (!bench_.hasModel()) return;
        const int heads = bench_.snapshot()->model->heads;
        bench_.pictures().showHead(item / heads, item % heads);
    });
    connect(&bench.pictures(), &PictureBench::lookChanged, this, &PictureHeads::show);
    connect(&bench, &Workbench::changesChanged, this, &PictureHeads::show); // the gates
    connect(&bench, &Workbench::shownRunChanged, this, &PictureHeads::show);
    connect(&bench, &Workbench::snapshotChanged, this, &PictureHeads::show);
    followTheme(bench, this);
}

void PictureHeads::show() {
    if (!bench_.reads(AxisKind::Patches)) return;
    const Snapshot& snapshot = *bench_.snapshot();
    const ModelInfo& model = *snapshot.model;
    const VisionLook look = bench_.pictures().look();
    const PictureRun run = pictureRun(snapshot), original = pictureRun(snapshot, true);
    const bool isDifference = bench_.shownRun() == ShownRun::Difference && run.seen && original.seen;
    const PictureRun* const subtracted = isDifference ? &original : nullptr;
    if (kind_ == Kind::Overlays) {
        auto figure = std::make_unique<HeadOverlaysFigure>(headOverlaysFigure(run, look, subtracted));
        for (int item = 0; item < figure->items() && !bench_.changes().empty(); ++item)
            figure->gates.push_back(bench_.shownShare(item / model.heads, item % model.heads));
        setFigure(std::move(figure));
    } else {
        setFigure(distanceFigure(run, look.site, look.isRollout ? -1 : look.head, subtracted));
    }
    const bool isHead = !look.isRollout && look.head >= 0;
    setChosen(isHead ? std::optional(look.site * model.heads + look.head) : std::nullopt);
}

} // namespace attn
