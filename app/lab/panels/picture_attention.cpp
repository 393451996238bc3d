#include "app/lab/panels/picture_attention.h"

#include "app/figures/read_image.h"
#include "app/lab/panels/attention_settings.h"
#include "app/lab/panels/picture_view.h"
#include "app/lab/widgets/choice_keys.h"
#include "engine/models/hook_names.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QSplitter>
#include <QVBoxLayout>

#include <utility>

namespace attn {
namespace {

constexpr const char* kViewKeys[] = {"attention", "rollout"};
constexpr const char* kFusionKeys[] = {"mean", "maximum", "minimum"};

QComboBox* makeChoice(const char* name, const QString& title, const QString& help, const QStringList& items) {
    auto* choice = new QComboBox;
    choice->setObjectName(QLatin1String(name));
    choice->setAccessibleName(title);
    choice->setToolTip(help);
    choice->addItems(items);
    choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    choice->setMinimumContentsLength(10);
    return choice;
}

QSlider* makeSlider(const char* name, const QString& title, const QString& help, int most, int value) {
    auto* slider = new QSlider(Qt::Horizontal);
    slider->setObjectName(QLatin1String(name));
    slider->setAccessibleName(title);
    slider->setToolTip(help);
    slider->setRange(0, most);
    slider->setValue(value);
    return slider;
}

void addRow(QGridLayout* grid, const QString& title, QWidget* widget) {
    auto* label = new QLabel(title);
    label->setBuddy(widget);
    label->setMinimumWidth(label->fontMetrics().horizontalAdvance(PictureAttention::tr("Discard lowest")) +
                           8); // the longest
    grid->setColumnStretch(1, 1);
    const int row = grid->rowCount();
    grid->addWidget(label, row, 0);
    grid->addWidget(widget, row, 1);
}

} // namespace

PictureAttention::PictureAttention(Workbench& bench, QWidget* parent)
    : Panel(parent), bench_(bench), pictures_(bench.pictures()),
      overlay_(new PictureView("attentionPicture", false, bench)) {
    auto* split = new QSplitter(Qt::Horizontal);
    split->setChildrenCollapsible(false);
    split->addWidget(makeControls());
    split->addWidget(overlay_);
    split->setStretchFactor(1, 1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addWidget(split);
    connect(&pictures_, &PictureBench::lookChanged, this, &PictureAttention::showControls);
}

QWidget* PictureAttention::makeControls() {
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(0, 0, 6, 0);
    view_ =
        makeChoice("visionView", tr("View"), tr("Attention of one layer, or attention rolled out through all layers"),
                   {tr("Attention"), tr("Rollout")});
    setChoiceKeys(*view_, kViewKeys);
    colours_ = makeChoice("visionColours", tr("Colours"), tr("Colour map of the attention weights"), {});
    for (const ColourMapInfo& map : colourMaps())
        colours_->addItem(QCoreApplication::translate("attn::ColourMap", map.title), colourMapKey(map.id));
    opacity_ =
        makeSlider("visionOpacity", tr("Opacity"), tr("Opacity of the heatmap over the picture, in percent"), 100, 60);
    smooth_ = new QCheckBox(tr("Smooth between patches"));
    smooth_->setObjectName("visionSmooth");
    smooth_->setToolTip(tr("Blend the colours of neighbouring patches. Off: one colour per patch"));
    fromAll_ = new QPushButton(tr("Show attention from CLS"));
    fromAll_->setObjectName("visionFrom");
    fromAll_->setToolTip(tr("Deselect the patch and show attention from what the classifier reads"));
    auto* top = new QGridLayout;
    addRow(top, tr("View"), view_);
    auto* look = new QGridLayout;
    addRow(look, tr("Colours"), colours_);
    addRow(look, tr("Opacity"), opacity_);
    column->addLayout(top);
    column->addWidget(attentionRow_ = makeAttentionRow());
    column->addWidget(rolloutRow_ = makeRolloutRow());
    column->addLayout(look);
    column->addWidget(smooth_);
    column->addWidget(fromAll_);
    column->addStretch(1);
    for (QComboBox* box : {view_, colours_})
        connect(box, &QComboBox::currentIndexChanged, this, &PictureAttention::setLook);
    connect(opacity_, &QSlider::valueChanged, this, &PictureAttention::setLook);
    connect(smooth_, &QCheckBox::toggled, this, &PictureAttention::setLook);
    connect(fromAll_, &QPushButton::clicked, this, [this] { bench_.selectRow(std::nullopt); });
    rolloutRow_->hide();
    auto* scroll = new QScrollArea;
    scroll->setAccessibleName(tr("Settings of the view"));
    scroll->setWidget(content);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setMinimumWidth(content->minimumSizeHint().width() + 20);
    return scroll;
}

QWidget* PictureAttention::makeAttentionRow() {
    layerBox_ = new QSpinBox;
    layerBox_->setObjectName("visionLayer");
    layerBox_->setAccessibleName(tr("Layer"));
    layerBox_->setToolTip(tr("The layer to show, counted from 0"));
    head_ = makeChoice("visionHead", tr("Head"), tr("One head, or the mean or maximum of all heads"), {});
    auto* row = new QWidget;
    auto* grid = new QGridLayout(row);
    grid->setContentsMargins(0, 0, 0, 0);
    addRow(grid, tr("Layer"), layerBox_);
    addRow(grid, tr("Head"), head_);
    connect(layerBox_, &QSpinBox::valueChanged, this,
            [this](int layer) { bench_.selectHead(layer, bench_.selection().head); });
    connect(head_, &QComboBox::currentIndexChanged, this, [this] {
        if (const int head = head_->currentData().toInt(); head >= 0)
            pictures_.showHead(layerBox_->value(), head);
        else
            setLook();
    });
    return row;
}

QWidget* PictureAttention::makeRolloutRow() {
    fusion_ = makeChoice("visionFusion", tr("Heads"),
                         tr("How the heads of a layer are combined before the layers are multiplied"),
                         {tr("Mean"), tr("Maximum"), tr("Minimum")});
    setChoiceKeys(*fusion_, kFusionKeys);
    weighted_ = makeChoice("visionWeighted", tr("Weighted by"),
                           tr("Weight attention by the gradient of a class: only attention that raises its logit "
                              "counts (Chefer et al. 2021). Heads and Discard then have no effect"),
                           {});
    weighted_->addItem(tr("Nothing"), -1);
    discard_ = makeSlider("visionDiscard", tr("Discard lowest"),
                          tr("Share of each layer's lowest attention weights to leave out, in percent"), 99, 0);
    auto* row = new QWidget;
    auto* grid = new QGridLayout(row);
    grid->setContentsMargins(0, 0, 0, 0);
    addRow(grid, tr("Weighted by"), weighted_);
    addRow(grid, tr("Heads"), fusion_);
    addRow(grid, tr("Discard lowest"), discard_);
    for (QComboBox* box : {fusion_, weighted_})
        connect(box, &QComboBox::currentIndexChanged, this, &PictureAttention::setRollout);
    connect(discard_, &QSlider::valueChanged, this, &PictureAttention::setRollout);
    return row;
}

void PictureAttention::setLook() {
    VisionLook look = pictures_.look();
    look.isRollout = view_->currentIndex() == 1;
    look.head = head_->currentData().toInt();
    look.colours = colourMapFromKey(colours_->currentData().toString());
    look.opacity = opacity_->value() / 100.0;
    look.isSmooth = smooth_->isChecked();
    attentionRow_->setVisible(!look.isRollout);
    rolloutRow_->setVisible(look.isRollout);
    pictures_.setLook(look);
    pictures_.askForRollout();
}

void PictureAttention::setRollout() {
    const int label = weighted_->currentData().toInt();
    fusion_->setEnabled(label < 0);
    discard_->setEnabled(label < 0);
    pictures_.setRollout(
        {.fusion = static_cast<HeadFusion>(fusion_->currentIndex()), .discard = discard_->value() / 100.0},
        label >= 0 ? std::optional(LogitTarget{.token = label}) : std::nullopt);
}

void PictureAttention::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const bool isNewModel = !snapshot_ || snapshot->model != snapshot_->model;
    snapshot_ = snapshot;
    if (isNewModel) showModel();
}

void PictureAttention::showModel() {
    const ModelInfo& info = *snapshot_->model;
    const QSignalBlocker quietLayer(layerBox_), quietHead(head_), quietClass(weighted_);
    layerBox_->setRange(0, info.layers - 1);
    head_->clear();
    head_->addItem(tr("Mean of all"), VisionLook::Mean);
    head_->addItem(tr("Maximum of all"), VisionLook::Maximum);
    for (int head = 0; head < info.heads; ++head) head_->addItem(QString::number(head), head);
    weighted_->clear();
    weighted_->addItem(tr("Nothing"), -1);
    for (int index = 0; index < info.classes; ++index)
        weighted_->addItem(QString::fromStdString(info.labelOf(index)), index);
    weighted_->setEnabled(weighted_->count() > 1);
    showControls();
    restoreViewOfModel();
}

/// Shows the selected head, and the class that other panels chose for the rollout.
void PictureAttention::showControls() {
    if (!snapshot_) return;
    const VisionLook look = pictures_.look();
    const QSignalBlocker quietLayer(layerBox_), quietHead(head_), quietView(view_), quietClass(weighted_);
    layerBox_->setValue(look.site);
    head_->setCurrentIndex(head_->findData(look.head));
    view_->setCurrentIndex(look.isRollout ? 1 : 0);
    attentionRow_->setVisible(!look.isRollout);
    rolloutRow_->setVisible(look.isRollout);
    const auto& target = pictures_.rollout().target;
    weighted_->setCurrentIndex(std::max(0, weighted_->findData(target ? target->token : -1)));
    fusion_->setEnabled(!target);
    discard_->setEnabled(!target);
    fromAll_->setText(snapshot_->model->prefix.empty() ? tr("Show attention from all patches")
                                                       : tr("Show attention from CLS"));
    fromAll_->setEnabled(bench_.selection().row.has_value());
}

QJsonObject PictureAttention::saveView() const {
    return {{"view", savedChoice(*view_)},
            {"site", QString::fromStdString(siteName(layerBox_->value()))},
            {"head", head_->currentData().toInt()},
            {"fusion", savedChoice(*fusion_)},
            {"discard", discard_->value()},
            {"weighted", weighted_->currentData().toInt()},
            {"colours", colours_->currentData().toString()},
            {"opacity", opacity_->value()},
            {"smooth", smooth_->isChecked()}};
}

void PictureAttention::restoreView(const QJsonObject& view) {
    if (view.isEmpty()) return;
    restoreChoice(*view_, view["view"], kViewKeys);
    restoreChoice(*fusion_, view["fusion"], kFusionKeys);
    discard_->setValue(view["discard"].toInt());
    if (const int at = colours_->findData(view["colours"].toString()); at >= 0) colours_->setCurrentIndex(at);
    opacity_->setValue(view["opacity"].toInt(60));
    smooth_->setChecked(view["smooth"].toBool());
    viewOfModel_ = view;
    if (snapshot_ && bench_.readsPictures()) restoreViewOfModel();
}

/// Layers, heads and classes are known only when the model has loaded.
void PictureAttention::restoreViewOfModel() {
    if (viewOfModel_.isEmpty()) return;
    const QJsonObject view = std::exchange(viewOfModel_, {});
    layerBox_->setValue(savedLayer(view, layerBox_->value()));
    for (auto [box, key] : {std::pair(head_, "head"), std::pair(weighted_, "weighted")})
        if (const int at = box->findData(view[key].toInt(box->currentData().toInt())); at >= 0)
            box->setCurrentIndex(at);
}

QWidget* PictureAttention::figure() { return overlay_; }
ExportNumbers PictureAttention::numbers() const { return numbersOf(overlay_->figure()); }

} // namespace attn
