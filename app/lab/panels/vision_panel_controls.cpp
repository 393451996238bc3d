#include "app/lab/panels/vision_panel.h"
#include "app/lab/panels/vision_views.h"
#include "app/lab/widgets/choice_keys.h"
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
#include <QMimeData>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QTreeWidget>
#include <QVBoxLayout>

// The controls of the vision panel.

namespace attn {
namespace {

constexpr const char* kFolder = "folder:"; ///< in place of a picture's name: ask for a folder

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

/// "Circle, example 1" for a file "1 circle.ppm"; the name of the file if it has no number.
QString exampleTitle(const QString& path) {
    const QString name = QFileInfo(path).completeBaseName(), number = name.section(' ', 0, 0);
    QString title = name.section(' ', 1);
    bool isNumber = false;
    number.toInt(&isNumber);
    if (!isNumber || title.isEmpty()) return name;
    title[0] = title[0].toUpper();
    return VisionPanel::tr("%1, example %2").arg(title, number);
}

void addRow(QGridLayout* grid, const QString& title, QWidget* widget) {
    auto* label = new QLabel(title);
    label->setBuddy(widget);
    label->setMinimumWidth(label->fontMetrics().horizontalAdvance(VisionPanel::tr("Discard lowest")) +
                           8); // the longest
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
    open->setToolTip(tr("Open the folder of a ViT, DeiT, DINOv2 or Swin model, or of a ViT from timm"));
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
    picture_ = makeChoice("visionPicture", tr("Picture"), tr("The picture that the model reads"), {});
    addRow(grid, tr("Picture"), picture_);
    column->addLayout(grid);
    auto* paste = new QPushButton(tr("Paste"));
    paste->setObjectName("visionPaste");
    paste->setToolTip(tr("Use the picture from the clipboard"));
    hide_ = new QCheckBox(tr("Hide patches"));
    hide_->setObjectName("visionHide");
    hide_->setToolTip(
        tr("Drag over the picture to hide patches from the model. Drag over hidden patches to show them again"));
    showAll_ = new QPushButton(tr("Show all"));
    showAll_->setObjectName("visionShowAll");
    showAll_->setToolTip(tr("Show all hidden patches to the model again"));
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
        edit(next, tr("showing all patches"), "show all");
    });
}

void VisionPanel::makeViewControls(QVBoxLayout* column) {
    view_ =
        makeChoice("visionView", tr("View"), tr("Attention of one layer, or attention rolled out through all layers"),
                   {tr("Attention"), tr("Rollout")});
    setChoiceKeys(*view_, kViewKeys);
    layerBox_ = new QSpinBox;
    layerBox_->setObjectName("visionLayer");
    layerBox_->setAccessibleName(tr("Layer"));
    layerBox_->setToolTip(tr("The layer to show, counted from 0"));
    head_ = makeChoice("visionHead", tr("Head"), tr("One head, or the mean or maximum of all heads"), {});
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
    colours_ = makeChoice("visionColours", tr("Colours"), tr("Colour map of the attention weights"), {});
    for (const ColourMapInfo& map : colourMaps())
        colours_->addItem(QCoreApplication::translate("attn::ColourMap", map.title), colourMapKey(map.id));
    opacity_ =
        makeSlider("visionOpacity", tr("Opacity"), tr("Opacity of the heatmap over the picture, in percent"), 100, 60);
    smooth_ = new QCheckBox(tr("Smooth between patches"));
    smooth_->setObjectName("visionSmooth");
    smooth_->setToolTip(tr("Blend the colours of neighbouring patches. Off: one colour per patch"));
    fromAll_ = new QPushButton;
    fromAll_->setObjectName("visionFrom");
    fromAll_->setToolTip(tr("Deselect the patch and show attention from what the classifier reads"));
    attentionRow_ = new QWidget;
    auto* attention = new QGridLayout(attentionRow_);
    attention->setContentsMargins(0, 0, 0, 0);
    addRow(attention, tr("Layer"), layerBox_);
    addRow(attention, tr("Head"), head_);
    rolloutRow_ = new QWidget;
    auto* rollout = new QGridLayout(rolloutRow_);
    rollout->setContentsMargins(0, 0, 0, 0);
    addRow(rollout, tr("Weighted by"), weighted_);
    addRow(rollout, tr("Heads"), fusion_);
    addRow(rollout, tr("Discard lowest"), discard_);
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
        message_->setText(tr("Computing the gradient of the class…")); // until the answer arrives
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
    answers_->setAccessibleName(tr("Predicted classes"));
    answers_->setToolTip(
        tr("The most probable classes. With hidden patches or changes, also the difference from the original run in "
           "percentage points. Click a class, or press Return, to show rollout weighted by its gradient"));
    answers_->setHeaderLabels({tr("Class"), tr("Probability"), tr("Difference")});
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
    auto* dialog = makeFileDialog(this, tr("Open the folder of a vision model"), QFileDialog::Directory);
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
    const QMimeData* mime = QGuiApplication::clipboard()->mimeData();
    if (mime && openData(*mime, tr("Pasted"))) return;
    showProblem(tr("The clipboard contains no picture. Copy one first."));
}

/// Lists the model's example pictures, those of an opened folder, the built-in ones, and the current one.
void VisionPanel::listPictures() {
    const QSignalBlocker quiet(picture_);
    picture_->clear();
    QList<std::pair<QString, QString>> pictures;
    for (const QString& example : examples_) pictures.append({exampleTitle(example), example});
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
