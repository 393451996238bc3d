#include "app/lab/panels/picture_attention.h"

#include "app/figures/vision_figures.h"
#include "app/lab/controls/picture_tools.h"
#include "app/lab/controls/picture_views.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/picture_bench.h"

#include <QStackedWidget>

namespace attn {

PictureAttention::PictureAttention(Workbench& bench)
    : AttentionPage(AxisKind::Patches, bench), tools_(new PictureTools(bench)),
      heads_(new PictureHeads("attentionPictures", PictureHeads::Kind::Overlays, bench)),
      picture_(new PictureView("attentionPicture", false, bench)), stack_(new QStackedWidget) {
    stack_->addWidget(heads_);
    stack_->addWidget(picture_);
    makeColumn(this, 0, {tools_, {stack_, 1}})->setSpacing(spacing::kTight);
    connect(heads_, &PointedView::activated, this, [this] { emit levelChosen(AttentionLevel::OneHead); });
    connect(&bench.pictures(), &PictureBench::lookChanged, this, &AttentionPage::changed);
}

void PictureAttention::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    tools_->setSnapshot(snapshot);
    emit changed();
}

void PictureAttention::showSettings() { stack_->setCurrentWidget(figure()); }

QJsonObject PictureAttention::saveView() const {
    QJsonObject view = tools_->saveView();
    view["level"] = level_ == AttentionLevel::AllHeads ? "all" : "head";
    return view;
}

void PictureAttention::restoreView(const QJsonObject& view) {
    tools_->restoreView(view);
    level_ = view["level"] == "all" ? AttentionLevel::AllHeads : AttentionLevel::OneHead;
    emit changed();
}

void PictureAttention::setLevel(AttentionLevel level) {
    if (level != AttentionLevel::OneCell) level_ = level;
    emit changed();
}

bool PictureAttention::hasHead() const { return !bench_.pictures().look().isRollout; }

HeadAggregate PictureAttention::aggregate() const {
    const int head = bench_.pictures().look().head;
    return head >= 0 ? HeadAggregate::None : head == VisionLook::Mean ? HeadAggregate::Mean : HeadAggregate::Maximum;
}

void PictureAttention::setAggregate(HeadAggregate aggregate) {
    VisionLook look = bench_.pictures().look();
    look.head = aggregate == HeadAggregate::None   ? bench_.selection().head
                : aggregate == HeadAggregate::Mean ? VisionLook::Mean
                                                   : VisionLook::Maximum;
    bench_.pictures().setLook(look);
}

void PictureAttention::choose(const HeadChoice& choice) {
    if (choice.head != bench_.selection().head) return bench_.pictures().showHead(choice.site, choice.head);
    bench_.selectHead(choice.site, choice.head);
}

ColourMapId PictureAttention::colours() const { return bench_.pictures().look().colours; }

void PictureAttention::setColours(ColourMapId colours) {
    VisionLook look = bench_.pictures().look();
    look.colours = colours;
    bench_.pictures().setLook(look);
}

QWidget* PictureAttention::figure() {
    return level_ == AttentionLevel::AllHeads ? heads_ : static_cast<QWidget*>(picture_);
}

const Figure* PictureAttention::shownFigure() const {
    return level_ == AttentionLevel::AllHeads ? static_cast<const Figure*>(heads_->figure()) : &picture_->figure();
}

} // namespace attn
