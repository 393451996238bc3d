#include "app/lab/panels/vision_changes.h"

#include "app/lab/common/panel_theme.h"
#include "app/lab/widgets/hint_label.h"
#include "app/lab/widgets/matrix_view.h"

#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QTreeWidget>
#include <QVBoxLayout>

// The controls of VisionChanges.

namespace attn {
namespace {

template <class Widget> Widget* named(Widget* widget, const char* id, const QString& name, const QString& help) {
    widget->setObjectName(QString::fromLatin1(id));
    widget->setAccessibleName(name);
    widget->setToolTip(help);
    return widget;
}

QHBoxLayout* rowOf(std::initializer_list<QWidget*> widgets, QWidget* stretched) {
    auto* row = new QHBoxLayout;
    for (QWidget* widget : widgets) row->addWidget(widget, !stretched || widget == stretched ? 1 : 0);
    return row;
}

QComboBox* makeChoice(const char* id, const QString& name, const QString& help, const QStringList& items) {
    auto* choice = named(new QComboBox, id, name, help);
    choice->addItems(items);
    choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    choice->setMinimumContentsLength(6);
    return choice;
}

} // namespace

VisionChanges::VisionChanges(Workbench& bench, QWidget* parent) : Panel(parent), bench_(bench) {
    title_ = new QLabel;
    title_->setObjectName("visionChangesTitle");
    title_->setWordWrap(true);
    reset_ = named(new QPushButton(tr("Restore original")), "visionChangesReset", tr("Remove all changes"),
                   tr("Remove every change and set every gate to 1"));
    run_ = makeChoice("visionChangesRun", tr("Run to show"),
                      tr("Show the changed run, the original run, or the difference (changed minus original)"),
                      {tr("Changed"), tr("Original"), tr("Difference")});
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addWidget(title_);
    column->addLayout(rowOf({run_, reset_}, run_));
    makeGates();
    column->addWidget(gates_, 1);
    column->addWidget(gateText_);
    column->addWidget(gate_);
    column->addWidget(makeForm());
    list_ = named(new QTreeWidget, "visionChangesList", tr("Changes"),
                  tr("Select a change to set its amount or to remove it"));
    list_->setHeaderHidden(true);
    list_->setRootIsDecorated(false);
    list_->setUniformRowHeights(true);
    list_->setFixedHeight(fontMetrics().height() * 5);
    remove_ = named(new QPushButton(tr("Remove")), "visionChangesRemove", tr("Remove the selected change"),
                    tr("Remove the selected change"));
    column->addWidget(list_);
    column->addWidget(remove_, 0, Qt::AlignRight);
    makePattern();
    column->addWidget(patternHint_);
    column->addLayout(rowOf({paint_, pin_}, nullptr));
    column->addLayout(rowOf({uniform_, own_}, nullptr));
    connect(reset_, &QPushButton::clicked, &bench_, &Workbench::restoreOriginal);
    connect(run_, &QComboBox::currentIndexChanged, this,
            [this](int index) { bench_.showRun(static_cast<ShownRun>(index)); });
    connect(&bench_, &Workbench::shownRunChanged, this, [this](ShownRun run) {
        const QSignalBlocker quiet(run_);
        run_->setCurrentIndex(static_cast<int>(run));
    });
    connect(&bench_, &Workbench::changesChanged, this, [this] {
        if (!bench_.readsPictures()) return;
        showGates();
        showList();
        showState();
    });
    connect(&bench_, &Workbench::selectionChanged, this, &VisionChanges::showSelected);
    connect(&bench_.pictures(), &PictureBench::changed, this, &VisionChanges::showState);
    connect(&bench_.pictures(), &PictureBench::crossed, this, &VisionChanges::paint);
    connect(&bench_.pictures(), &PictureBench::brushChanged, this,
            [this] { paint_->setChecked(bench_.pictures().brush() == PictureBench::Brush::Paint); });
    connect(&bench_.pictures(), &PictureBench::choicesChanged, this, &VisionChanges::listPictures);
    const auto setTheme = [this](ThemeId theme) { gates_->setTheme(figureTheme(theme)); };
    connect(&bench_, &Workbench::themeChanged, this, setTheme);
    setTheme(bench_.theme());
    connect(list_, &QTreeWidget::itemSelectionChanged, this,
            [this] { remove_->setEnabled(list_->currentItem() != nullptr); });
    connect(remove_, &QPushButton::clicked, this, &VisionChanges::removeSelected);
    listPictures();
    showForm();
    showList();
    showState();
}

void VisionChanges::makeGates() {
    gates_ = named(new MatrixView, "visionGates", tr("Gates of the heads"),
                   tr("Click a head to choose it. Double-click, or press Return, to close or open its gate"));
    gates_->setMinimumHeight(fontMetrics().height() * 9); // the title, the names of the columns, and rows
    gate_ = named(new QSlider(Qt::Horizontal), "visionGate", tr("Gate of the chosen head"),
                  tr("The factor that multiplies the head's output: 0 removes the head"));
    gate_->setRange(0, 100);
    gateText_ = new QLabel;
    gateText_->setObjectName("visionGateText");
    connect(gate_, &QSlider::valueChanged, this, [this](int value) { setGate(static_cast<float>(value) / 100); });
    connect(gates_, &MatrixView::chosen, this,
            [this](const MatrixCell& cell) { bench_.pictures().showHead(cell.row, cell.column); });
    connect(gates_, &MatrixView::activated, this,
            [this] { setGate(changes().gate(layer_->value(), head_->value()) > 0 ? 0.0f : 1.0f); });
}

QWidget* VisionChanges::makeForm() {
    where_ = makeChoice("visionChangeWhere", tr("What to change"), tr("The part of the model to change"),
                        {tr("Head output"), tr("Attention output"), tr("MLP output"), tr("Whole layer"),
                         tr("Residual stream before layer"), tr("Embedding")});
    layer_ = named(new QSpinBox, "visionChangeLayer", tr("Layer"), tr("The layer to change, counted from 0"));
    head_ = named(new QSpinBox, "visionChangeHead", tr("Head"), tr("The head to change, counted from 0"));
    layer_->setPrefix(tr("layer "));
    head_->setPrefix(tr("head "));
    token_ = makeChoice("visionChangeToken", tr("Token"),
                        tr("Change every token, or a single one. While a single token is chosen, click a patch in the "
                           "picture to choose it"),
                        {});
    kind_ = makeChoice("visionChangeKind", tr("How to change it"),
                       tr("Remove the value; replace it with the mean over a picture's tokens (mean ablation); replace "
                          "it with the value from a picture's run (activation patching); or add the direction from "
                          "this picture to the other one (steering)"),
                       {tr("Remove"), tr("Replace with a picture's mean"), tr("Replace with a picture's value"),
                        tr("Add a direction")});
    source_ = makeChoice("visionChangeSource", tr("Source of the value"),
                         tr("This picture without hidden patches and without changes, or the other picture"),
                         {tr("this picture"), tr("the other picture")});
    otherLabel_ = new QLabel(tr("Other picture"));
    other_ = makeChoice("visionChangeOther", tr("Other picture"),
                        tr("The picture whose values are used by changes and by activation patching"), {});
    otherLabel_->setBuddy(other_);
    amount_ = named(new QSlider(Qt::Horizontal), "visionChangeAmount", tr("Amount"),
                    tr("The share to replace, or the factor of a direction. Drag to set the amount of the change that "
                       "is selected below"));
    amount_->setRange(0, kAmountSteps);
    amountText_ = new QLabel;
    amountText_->setMinimumWidth(fontMetrics().horizontalAdvance("-4.00 "));
    add_ = named(new QPushButton(tr("Add")), "visionChangeAdd", tr("Add this change"), tr("Add this change"));
    auto* form = new QWidget;
    auto* rows = new QFormLayout(form);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    rows->addRow(tr("Where"), where_);
    rows->addRow(QString(), rowOf({layer_, head_}, nullptr));
    rows->addRow(tr("Token"), token_);
    rows->addRow(tr("How"), kind_);
    rows->addRow(QString(), source_);
    rows->addRow(otherLabel_, other_);
    rows->addRow(tr("Amount"), rowOf({amount_, amountText_}, amount_));
    rows->addRow(QString(), add_);
    for (QComboBox* box : {where_, kind_, source_})
        connect(box, &QComboBox::currentIndexChanged, this, &VisionChanges::showForm);
    for (QSpinBox* box : {layer_, head_})
        connect(box, &QSpinBox::valueChanged, this, [this] { bench_.selectHead(layer_->value(), head_->value()); });
    connect(other_, &QComboBox::activated, this,
            [this](int index) { chooseOther(other_->itemData(index).toString()); });
    connect(amount_, &QSlider::valueChanged, this, &VisionChanges::changeSelected);
    connect(add_, &QPushButton::clicked, this, &VisionChanges::addDescribed);
    return form;
}

void VisionChanges::makePattern() {
    patternHint_ = makeHintLabel("visionPatternHint");
    paint_ = named(new QPushButton(tr("Paint")), "visionPatternPaint", tr("Paint where the head looks"),
                   tr("Drag over patches in the picture: the chosen patch then attends only to them (if no patch is "
                      "chosen: CLS, or all patches). Drag over them again to remove them"));
    paint_->setCheckable(true);
    pin_ = named(new QPushButton(tr("Pin to patch")), "visionPatternPin", tr("Pin the pattern to the chosen patch"),
                 tr("Make every token attend only to the patch that is chosen in the picture"));
    uniform_ = named(new QPushButton(tr("Make uniform")), "visionPatternUniform", tr("Make the pattern uniform"),
                     tr("Spread every token's attention evenly over all tokens"));
    own_ = named(new QPushButton(tr("Restore pattern")), "visionPatternOwn", tr("Restore the head's original pattern"),
                 tr("Restore the head's original pattern"));
    connect(paint_, &QPushButton::toggled, this, [this](bool on) {
        if (on) {
            bench_.pictures().setBrush(PictureBench::Brush::Paint);
            bench_.showPanel("attention"); // the picture
        } else if (bench_.pictures().brush() == PictureBench::Brush::Paint) {
            bench_.pictures().setBrush(PictureBench::Brush::None);
        }
    });
    connect(pin_, &QPushButton::clicked, this, [this] {
        if (!patch_) return;
        applyPattern({.site = layer_->value(),
                      .head = head_->value(),
                      .kind = PatternEdit::Kind::Pin,
                      .key = tokenOf(*patch_, layer_->value())},
                     tr("pinning a pattern"));
    });
    connect(uniform_, &QPushButton::clicked, this, [this] {
        applyPattern({.site = layer_->value(), .head = head_->value(), .kind = PatternEdit::Kind::Uniform},
                     tr("making a pattern uniform"));
    });
    connect(own_, &QPushButton::clicked, this,
            [this] { applyPattern({.site = layer_->value(), .head = head_->value()}, tr("restoring a pattern")); });
}

} // namespace attn
