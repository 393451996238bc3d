#include "app/lab/controls/picture_tools.h"

#include "app/figures/token_label.h"
#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/flow_layout.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/attention_settings.h"
#include "app/lab/workbench/picture_bench.h"

#include <QCheckBox>
#include <QComboBox>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>

#include <algorithm>
#include <utility>

namespace attn {
namespace {

constexpr const char* kViewKeys[] = {"attention", "rollout"};
constexpr const char* kFusionKeys[] = {"mean", "maximum", "minimum"};

QSlider* makeSlider(const char* id, const QString& name, const QString& help, int most, int value) {
    auto* slider = named(new QSlider(Qt::Horizontal), id, name, help);
    slider->setRange(0, most);
    slider->setValue(value);
    slider->setMinimumWidth(120);
    return slider;
}

} // namespace

PictureTools::PictureTools(Workbench& bench) : bench_(bench), pictures_(bench.pictures()) {
    view_ = named(new QComboBox, "attentionView", tr("View"),
                  tr("Attention of one layer, or attention rolled out through all layers"));
    view_->addItems({tr("Attention"), tr("Rollout")});
    setChoiceKeys(*view_, kViewKeys);
    weighted_ = named(new QComboBox, "attentionWeighted", tr("Weighted by"),
                      tr("Weight attention by the gradient of a class: only attention that raises its logit "
                         "counts (Chefer et al. 2021). Heads and Discard then have no effect"));
    weighted_->addItem(tr("Nothing"), -1);
    setLeastCharacters(*weighted_, 10);
    fusion_ = named(new QComboBox, "attentionFusion", tr("Heads"),
                    tr("How the heads of a layer are combined before the layers are multiplied"));
    fusion_->addItems({tr("Mean"), tr("Maximum"), tr("Minimum")});
    setChoiceKeys(*fusion_, kFusionKeys);
    discard_ = makeSlider("attentionDiscard", tr("Discard lowest"),
                          tr("Share of each layer's lowest attention weights to leave out, in percent"), 99, 0);
    opacity_ = makeSlider("attentionOpacity", tr("Opacity"), tr("Opacity of the heatmap over the picture, in percent"),
                          100, 60);
    smooth_ = named(new QCheckBox(tr("Smooth between patches")), "attentionSmooth", tr("Smooth between patches"),
                    tr("Blend the colours of neighbouring patches. Off: one colour per patch"));
    fromAll_ = named(new QPushButton(tr("Show attention from CLS")), "attentionFrom", tr("Deselect the patch"));
    auto* row = new FlowLayout(this);
    for (QWidget* control : std::initializer_list<QWidget*>{view_, weighted_, fusion_, discard_, opacity_})
        row->addLabelled(control->accessibleName(), control);
    row->addWidget(smooth_);
    row->addWidget(fromAll_);

    connect(view_, &QComboBox::currentIndexChanged, this, &PictureTools::setLook);
    connect(opacity_, &QSlider::valueChanged, this, &PictureTools::setLook);
    connect(smooth_, &QCheckBox::toggled, this, &PictureTools::setLook);
    for (QComboBox* box : {fusion_, weighted_})
        connect(box, &QComboBox::currentIndexChanged, this, &PictureTools::setRollout);
    connect(discard_, &QSlider::valueChanged, this, &PictureTools::setRollout);
    connect(fromAll_, &QPushButton::clicked, this, [this] { bench_.selectRow(std::nullopt); });
    connect(&pictures_, &PictureBench::lookChanged, this, &PictureTools::show);
    show();
}

void PictureTools::setLook() {
    VisionLook look = pictures_.look();
    look.isRollout = view_->currentIndex() == 1;
    look.opacity = opacity_->value() / 100.0;
    look.isSmooth = smooth_->isChecked();
    pictures_.setLook(look);
    pictures_.askForRollout();
}

void PictureTools::setRollout() {
    const int label = weighted_->currentData().toInt();
    pictures_.setRollout(
        {.fusion = static_cast<HeadFusion>(fusion_->currentIndex()), .discard = discard_->value() / 100.0},
        label >= 0 ? std::optional(LogitTarget{.token = label}) : std::nullopt);
}

void PictureTools::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    if (model_ == snapshot->model) return;
    model_ = snapshot->model;
    {
        const QSignalBlocker quiet(weighted_);
        weighted_->clear();
        weighted_->addItem(tr("Nothing"), -1);
        for (int index = 0; index < model_->classes; ++index)
            weighted_->addItem(shownText(model_->labelOf(index)), index);
        weighted_->setEnabled(model_->classes > 0);
    }
    show();
    restoreViewOfModel();
}

/// Shows what other panels chose, too: the class of the rollout.
void PictureTools::show() {
    const VisionLook look = pictures_.look();
    const auto& target = pictures_.rollout().target;
    const QSignalBlocker quietView(view_), quietClass(weighted_);
    view_->setCurrentIndex(look.isRollout ? 1 : 0);
    weighted_->setCurrentIndex(std::max(0, weighted_->findData(target ? target->token : -1)));
    fusion_->setEnabled(!target);
    discard_->setEnabled(!target);
    for (QWidget* control : std::initializer_list<QWidget*>{weighted_, fusion_, discard_})
        control->parentWidget()->setVisible(look.isRollout); // with its label
    const bool isFromPatches = model_ && model_->prefix.empty();
    fromAll_->setText(isFromPatches ? tr("Show attention from all patches") : tr("Show attention from CLS"));
    fromAll_->setToolTip(isFromPatches
                             ? tr("Deselect the patch and show attention from all of them")
                             : tr("Deselect the patch and show attention from CLS, an extra token that stands "
                                  "for the whole picture. The class is read from it."));
    fromAll_->setEnabled(bench_.selection().row.has_value());
}

QJsonObject PictureTools::saveView() const {
    const VisionLook look = pictures_.look();
    return {{"view", savedChoice(*view_)},
            {"site", savedSiteName(bench_)},
            {"head", look.head},
            {"fusion", savedChoice(*fusion_)},
            {"discard", discard_->value()},
            {"weighted", weighted_->currentData().toInt()},
            {"colours", colourMapKey(look.colours)},
            {"opacity", opacity_->value()},
            {"smooth", smooth_->isChecked()}};
}

void PictureTools::restoreView(const QJsonObject& view) {
    if (view.isEmpty()) return;
    restoreChoice(*view_, view["view"], kViewKeys);
    restoreChoice(*fusion_, view["fusion"], kFusionKeys);
    discard_->setValue(view["discard"].toInt());
    opacity_->setValue(view["opacity"].toInt(60));
    smooth_->setChecked(view["smooth"].toBool());
    VisionLook look = pictures_.look();
    look.colours = colourMapFromKey(view["colours"].toString());
    pictures_.setLook(look);
    viewOfModel_ = view;
    if (model_ && model_ == bench_.snapshot()->model) restoreViewOfModel();
}

/// Layers, heads and classes are known only when the model has loaded.
void PictureTools::restoreViewOfModel() {
    if (viewOfModel_.isEmpty()) return;
    const QJsonObject view = std::exchange(viewOfModel_, {});
    VisionLook look = pictures_.look();
    const int head = view["head"].toInt(look.head);
    if (head >= VisionLook::Maximum && head < model_->heads) look.head = head;
    bench_.selectHead(savedSite(view, look.site, bench_), head >= 0 ? head : bench_.selection().head);
    pictures_.setLook(look);
    if (const int at = weighted_->findData(view["weighted"].toInt(-1)); at >= 0) weighted_->setCurrentIndex(at);
}

} // namespace attn
