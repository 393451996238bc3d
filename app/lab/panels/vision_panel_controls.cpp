#include "app/figures/read_image.h"
#include "app/lab/panels/vision_panel.h"
#include "app/lab/panels/vision_views.h"
#include "app/lab/widgets/file_dialog.h"
#include "app/lab/widgets/hint_label.h"
#include "app/lab/widgets/picture_patches.h"

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QCoreApplication>
#include <QFileInfo>
#include <QGridLayout>
#include <QGuiApplication>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QTreeWidget>
#include <QVBoxLayout>

// What a person sets in the vision panel.

namespace attn {
namespace {

constexpr const char* kFolder = "folder:"; ///< in place of a picture: asks for one

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
    label->setMinimumWidth(label->fontMetrics().horizontalAdvance(VisionPanel::tr("Weighted by")) + 8); // the longest
    grid->setColumnStretch(1, 1);
    const int row = grid->rowCount();
    grid->addWidget(label, row, 0);
    grid->addWidget(widget, row, 1);
}

} // namespace

QWidget* VisionPanel::makeControls() {
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(0, 0, 6, 0);
    makeModelControls(column);
    makePictureControls(column);
    makeViewControls(column);
    makeAnswers(column);
    auto* scroll = new QScrollArea;
    scroll->setAccessibleName(tr("Model, picture and view"));
    scroll->setWidget(content);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setMinimumWidth(content->minimumSizeHint().width() + 20);
    return scroll;
}

void VisionPanel::makeModelControls(QVBoxLayout* column) {
    auto* open = new QPushButton(tr("Open a vision model…"));
    open->setObjectName("visionOpen");
    open->setToolTip(tr("A folder of a ViT, DeiT or DINOv2 model, or one of timm's"));
    modelText_ = makeHintLabel("visionModel");
    message_ = new QLabel;
    message_->setObjectName("visionMessage");
    message_->setWordWrap(true);
    message_->hide();
    column->addWidget(open);
    column->addWidget(modelText_);
    column->addWidget(message_);
    connect(open, &QPushButton::clicked, this, &VisionPanel::chooseModel);
}

void VisionPanel::makePictureControls(QVBoxLayout* column) {
    auto* grid = new QGridLayout;
    picture_ = makeChoice("visionPicture", tr("Picture"), tr("The picture that the model is shown"), {});
    addRow(grid, tr("Picture"), picture_);
    column->addLayout(grid);
    auto* paste = new QPushButton(tr("Paste"));
    paste->setObjectName("visionPaste");
    paste->setToolTip(tr("The picture that was copied elsewhere"));
    hide_ = new QCheckBox(tr("Hide patches"));
    hide_->setObjectName("visionHide");
    hide_->setToolTip(tr("Drag over the picture to hide patches from the model, or to show hidden ones again"));
    showAll_ = new QPushButton(tr("Show all"));
    showAll_->setObjectName("visionShowAll");
    showAll_->setToolTip(tr("No patch is hidden any more"));
    auto* row = new QHBoxLayout;
    row->addWidget(hide_);
    row->addWidget(showAll_);
    row->addStretch(1);
    row->addWidget(paste);
    column->addLayout(row);
    connect(picture_, &QComboBox::activated, this, &VisionPanel::choosePicture);
    connect(paste, &QPushButton::clicked, this, &VisionPanel::pastePicture);
    connect(showAll_, &QPushButton::clicked, this, [this] {
        VisionSetup next = setup_;
        next.hidden.clear();
        edit(next, tr("hidden patches"), "show all");
    });
}

void VisionPanel::makeViewControls(QVBoxLayout* column) {
    view_ = makeChoice("visionView", tr("View"), tr("One layer's attention, or how much reaches through all of them"),
                       {tr("Attention"), tr("Rollout")});
    layerBox_ = new QSpinBox;
    layerBox_->setObjectName("visionLayer");
    layerBox_->setAccessibleName(tr("Layer"));
    layerBox_->setToolTip(tr("Whose heads look, from 0"));
    head_ = makeChoice("visionHead", tr("Head"), tr("One head, or all of the layer as one"), {});
    fusion_ = makeChoice("visionFusion", tr("Heads as"),
                         tr("How the heads of a layer become one map before layers are multiplied"),
                         {tr("Mean"), tr("Maximum"), tr("Minimum")});
    weighted_ = makeChoice("visionWeighted", tr("Weighted by"),
                           tr("By the gradient of a class only what raises its logit counts, and heads and discarding "
                              "are no choice (Chefer et al. 2021)"),
                           {});
    weighted_->addItem(tr("Nothing"), -1);
    discard_ = makeSlider("visionDiscard", tr("Discard"),
                          tr("Share of each layer's weights, the lowest, that is left out, in percent"), 99, 0);
    colours_ = makeChoice("visionColours", tr("Colours"), tr("Colour map of the weights"), {});
    for (const ColourMapInfo& map : colourMaps())
        colours_->addItem(QCoreApplication::translate("attn::ColourMap", map.title), colourMapKey(map.id));
    opacity_ = makeSlider("visionOpacity", tr("Opacity"), tr("Of the weights over the picture, in percent"), 100, 60);
    smooth_ = new QCheckBox(tr("Smooth between patches"));
    smooth_->setObjectName("visionSmooth");
    smooth_->setToolTip(tr("Blends the weights of neighbouring patches; off: one colour a patch"));
    fromAll_ = new QPushButton;
    fromAll_->setObjectName("visionFrom");
    fromAll_->setToolTip(tr("Back from the chosen patch to the token that the classifier reads"));
    attentionRow_ = new QWidget;
    auto* attention = new QGridLayout(attentionRow_);
    attention->setContentsMargins(0, 0, 0, 0);
    addRow(attention, tr("Layer"), layerBox_);
    addRow(attention, tr("Head"), head_);
    rolloutRow_ = new QWidget;
    auto* rollout = new QGridLayout(rolloutRow_);
    rollout->setContentsMargins(0, 0, 0, 0);
    addRow(rollout, tr("Weighted by"), weighted_);
    addRow(rollout, tr("Heads as"), fusion_);
    addRow(rollout, tr("Discard"), discard_);
    auto* top = new QGridLayout;
    addRow(top, tr("View"), view_);
    column->addLayout(top);
    column->addWidget(attentionRow_);
    column->addWidget(rolloutRow_);
    auto* look = new QGridLayout;
    addRow(look, tr("Colours"), colours_);
    addRow(look, tr("Opacity"), opacity_);
    column->addLayout(look);
    column->addWidget(smooth_);
    column->addWidget(fromAll_);
    connect(view_, &QComboBox::currentIndexChanged, this, [this] {
        attentionRow_->setVisible(!showsRollout());
        rolloutRow_->setVisible(showsRollout());
        showLook();
    });
    connect(layerBox_, &QSpinBox::valueChanged, this, &VisionPanel::showLook);
    connect(head_, &QComboBox::currentIndexChanged, this, &VisionPanel::showLook);
    connect(fusion_, &QComboBox::currentIndexChanged, this, &VisionPanel::ask);
    connect(discard_, &QSlider::valueChanged, this, &VisionPanel::ask);
    connect(weighted_, &QComboBox::currentIndexChanged, this, [this] {
        const bool isWeighted = weighted_->currentData().toInt() >= 0;
        fusion_->setEnabled(!isWeighted);
        discard_->setEnabled(!isWeighted);
        ask();
        if (!isWeighted || !shown_->answer) return;
        message_->setText(tr("Following the class back through the layers…")); // until its answer is there
        message_->show();
    });
    connect(colours_, &QComboBox::currentIndexChanged, this, &VisionPanel::showLook);
    connect(opacity_, &QSlider::valueChanged, this, &VisionPanel::showLook);
    connect(smooth_, &QCheckBox::toggled, this, &VisionPanel::showLook);
    connect(fromAll_, &QPushButton::clicked, this, [this] {
        patch_.reset();
        showLook();
    });
    rolloutRow_->hide();
}

void VisionPanel::makeAnswers(QVBoxLayout* column) {
    answerText_ = makeHintLabel("visionAnswer");
    answers_ = new QTreeWidget;
    answers_->setObjectName("visionAnswers");
    answers_->setAccessibleName(tr("What the model takes the picture for"));
    answers_->setToolTip(tr("Classes by probability; with patches hidden also what that changes. Click one, or "
                            "press Return, to roll attention out by its gradient"));
    answers_->setHeaderLabels({tr("Class"), tr("Probability"), tr("Change")});
    answers_->setRootIsDecorated(false);
    answers_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    answers_->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
    answers_->header()->setSectionResizeMode(2, QHeaderView::ResizeToContents);
    answers_->header()->setStretchLastSection(false);
    answers_->setMinimumHeight(110);
    connect(answers_, &QTreeWidget::itemClicked, this, &VisionPanel::chooseClass);
    connect(answers_, &QTreeWidget::itemActivated, this, &VisionPanel::chooseClass);
    column->addWidget(answerText_);
    column->addWidget(answers_, 1);
}

void VisionPanel::chooseModel() {
    auto* dialog = makeFileDialog(this, tr("Open a folder of a vision model"), QFileDialog::Directory);
    connect(dialog, &QFileDialog::fileSelected, this, &VisionPanel::openModel);
    dialog->open();
}

void VisionPanel::choosePicture(int index) {
    const QString name = picture_->itemData(index).toString();
    const bool isFolder = name == QLatin1String(kFolder);
    if (!name.isEmpty() && !isFolder) return openPicture(name);
    auto* dialog = isFolder ? makeFileDialog(this, tr("Choose a folder of pictures"), QFileDialog::Directory)
                            : makeFileDialog(this, tr("Choose a picture"), QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this,
            isFolder ? &VisionPanel::openPictures : &VisionPanel::openPicture);
    connect(dialog, &QFileDialog::finished, this, &VisionPanel::listPictures);
    dialog->open();
}

void VisionPanel::pastePicture() {
    const QImage image = QGuiApplication::clipboard()->image();
    if (image.isNull()) {
        message_->setText(tr("The clipboard holds no picture; copy one first."));
        message_->show();
        return;
    }
    editPicture(tr("Pasted"), std::make_shared<const Image>(imageFrom(image)));
}

/// The model's own pictures, those of a folder, those drawn by code, and what is shown.
void VisionPanel::listPictures() {
    const QSignalBlocker quiet(picture_);
    picture_->clear();
    QList<std::pair<QString, QString>> pictures;
    for (const QString& example : examples_) pictures.append({QFileInfo(example).completeBaseName(), example});
    for (const QString& other : others_) pictures.append({QFileInfo(other).fileName(), other});
    for (const BuiltInPicture& picture : builtInPictures())
        pictures.append({QCoreApplication::translate("attn::Picture", picture.title), QLatin1String(picture.id)});
    for (const auto& [title, name] : pictures) picture_->addItem(title, name);
    if (const QString& other = setup_.change.otherName; !other.isEmpty()) // from a file
        if (std::ranges::none_of(pictures, [&](const auto& each) { return each.second == other; }))
            pictures.append({QFileInfo(other).fileName(), other});
    views_->changes().setPictures(pictures);
    if (picture_->findData(setup_.name) < 0) picture_->addItem(QFileInfo(setup_.name).fileName(), setup_.name);
    picture_->addItem(tr("From a file…"));
    picture_->addItem(tr("From a folder…"), QLatin1String(kFolder));
    picture_->setCurrentIndex(picture_->findData(setup_.name));
}

} // namespace attn
