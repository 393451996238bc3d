#include "app/lab/panels/picture_view.h"

#include "app/figures/vision_look.h"
#include "app/lab/panels/shown_picture.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/picture_bench.h"

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
    if (!bench_.readsPictures()) return;
    const Snapshot& snapshot = *bench_.snapshot();
    VisionLook look = bench_.pictures().look();
    if (showsHead_) {
        look.head = bench_.selection().head;
        look.isRollout = false;
    }
    const bool isDifference = bench_.shownRun() == ShownRun::Difference && snapshot.uneditedAnswer && snapshot.answer;
    PatchOverlayFigure figure = isDifference ? differenceFigure(pictureRun(snapshot), pictureRun(snapshot, true), look)
                                             : overlayFigure(pictureRun(snapshot), look);
    figure.marked = bench_.selection().row;
    figure.hovered = bench_.pictures().pointed();
    setFigure(std::move(figure));
}

} // namespace attn
