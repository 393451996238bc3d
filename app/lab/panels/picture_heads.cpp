#include "app/lab/panels/picture_heads.h"

#include "app/figures/head_overlays_figure.h"
#include "app/figures/vision_figures.h"
#include "app/lab/panels/shown_picture.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/picture_bench.h"

namespace attn {

PictureHeads::PictureHeads(const char* id, Kind kind, Workbench& bench)
    : PointedView(kind == Kind::Overlays ? tr("Every head of every layer") : tr("Attention distance of every head")),
      kind_(kind), bench_(bench) {
    setObjectName(QString::fromLatin1(id));
    connect(this, &PointedView::chosen, this, [this](int item) { // both number the heads of layer 0 first
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
    if (!bench_.readsPictures()) return;
    const Snapshot& snapshot = *bench_.snapshot();
    const ModelInfo& model = *snapshot.model;
    const VisionLook look = bench_.pictures().look();
    const PictureRun run = pictureRun(snapshot), original = pictureRun(snapshot, true);
    const bool isDifference = bench_.shownRun() == ShownRun::Difference && run.seen && original.seen;
    const PictureRun* const subtracted = isDifference ? &original : nullptr;
    if (kind_ == Kind::Overlays) {
        auto figure = std::make_unique<HeadOverlaysFigure>(headOverlaysFigure(run, look, subtracted));
        for (int item = 0; item < figure->items() && !bench_.changes().gates.empty(); ++item)
            figure->gates.push_back(bench_.shownGate(item / model.heads, item % model.heads));
        setFigure(std::move(figure));
    } else {
        setFigure(distanceFigure(run, look.site, look.isRollout ? -1 : look.head, subtracted));
    }
    const bool isHead = !look.isRollout && look.head >= 0;
    setChosen(isHead ? std::optional(look.site * model.heads + look.head) : std::nullopt);
}

} // namespace attn
