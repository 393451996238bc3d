#include "app/lab/panels/picture_heads.h"

#include "app/figures/head_overlays_figure.h"
#include "app/figures/vision_figures.h"
#include "app/lab/common/panel_theme.h"
#include "app/lab/panels/shown_picture.h"
#include "app/lab/widgets/pointed_view.h"

#include <QVBoxLayout>

namespace attn {

PictureHeads::PictureHeads(Kind kind, Workbench& bench, QWidget* parent)
    : Panel(parent), kind_(kind), bench_(bench),
      view_(new PointedView(kind == Kind::Overlays ? tr("Every head of every layer")
                                                   : tr("Attention distance of every head"))) {
    view_->setObjectName(kind == Kind::Overlays ? "visionHeads" : "visionDistance");
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addWidget(view_);
    connect(view_, &PointedView::chosen, this, [this](int item) { // both number the heads of layer 0 first
        bench_.pictures().showHead(item / snapshot_->model->heads, item % snapshot_->model->heads);
    });
    connect(&bench_.pictures(), &PictureBench::lookChanged, this, &PictureHeads::show);
    connect(&bench_, &Workbench::shownRunChanged, this, &PictureHeads::show);
    const auto setTheme = [this](ThemeId theme) { view_->setTheme(figureTheme(theme)); };
    connect(&bench_, &Workbench::themeChanged, this, setTheme);
    setTheme(bench_.theme());
}

void PictureHeads::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const bool isNew = !snapshot_ || snapshot_->answer != snapshot->answer ||
                       snapshot_->uneditedAnswer != snapshot->uneditedAnswer || snapshot_->model != snapshot->model;
    snapshot_ = snapshot;
    if (isNew) show();
}

void PictureHeads::show() {
    if (!snapshot_) return;
    const VisionLook look = bench_.pictures().look();
    const PictureRun run = pictureRun(*snapshot_), original = pictureRun(*snapshot_, true);
    const bool isDifference = bench_.shownRun() == ShownRun::Difference && run.seen && original.seen;
    const PictureRun* const subtracted = isDifference ? &original : nullptr;
    if (kind_ == Kind::Overlays)
        view_->setFigure(std::make_unique<HeadOverlaysFigure>(headOverlaysFigure(run, look, subtracted)));
    else
        view_->setFigure(distanceFigure(run, look.site, look.isRollout ? -1 : look.head, subtracted));
    const bool isHead = !look.isRollout && look.head >= 0;
    view_->setChosen(isHead ? std::optional(look.site * snapshot_->model->heads + look.head) : std::nullopt);
}

QWidget* PictureHeads::figure() { return view_; }
ExportNumbers PictureHeads::numbers() const { return view_->figure() ? numbersOf(*view_->figure()) : ExportNumbers{}; }

} // namespace attn
