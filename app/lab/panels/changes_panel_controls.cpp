#include "app/lab/panels/change_source.h"
#include "app/lab/panels/changes_panel.h"
#include "app/lab/panels/front_watch.h"
#include "app/lab/panels/gate_slider.h"
#include "app/lab/panels/pattern_editor.h"
#include "app/lab/widgets/hint_label.h"
#include "app/lab/widgets/named.h"
#include "app/lab/widgets/plain_table.h"
#include "engine/analysis/continuation.h"

#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QStackedWidget>
#include <QTreeWidget>
#include <QVBoxLayout>

// The controls of the panel of changes.

namespace attn {
namespace {

QHBoxLayout* rowOf(QWidget* wide, std::initializer_list<QWidget*> narrow) {
    auto* row = new QHBoxLayout;
    row->addWidget(wide, 1);
    for (QWidget* widget : narrow) row->addWidget(widget);
    return row;
}

} // namespace

ChangesPanel::ChangesPanel(Workbench& bench, QWidget* parent)
    : Panel(parent), bench_(bench), right_(new QStackedWidget), pattern_(new PatternEditor(bench)) {
    auto* left = new QVBoxLayout;
    QLayout* head = makeHead();
    left->addWidget(makeForm());
    left->addLayout(makeList());
    effect_ = makePlainTable("interventionsEffect", tr("Answers of the original and the changed run"),
                             tr("Probabilities at temperature 1: original, changed and difference"),
                             {tr("Next token"), tr("Original"), tr("Changed"), tr("Difference")});
    effect_->setSelectionMode(QAbstractItemView::NoSelection);
    left->addWidget(effect_, 1);
    left->addLayout(makeContinuations());
    right_->addWidget(pattern_);
    right_->addWidget(makeCells());
    auto* both = new QHBoxLayout;
    both->addLayout(left, 3);
    both->addWidget(right_, 2);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addLayout(head);
    column->addLayout(both, 1);

    new FrontWatch(this,
                   [this](bool isInFront) { bench_.want(this, isInFront ? WantedViews::patterns() : WantedViews()); });
    connect(&bench_, &Workbench::selectionChanged, this, &ChangesPanel::showHead);
    connect(&bench_, &Workbench::changesChanged, this, [this] {
        showList();
        showCells();
    });
    connect(&bench_, &Workbench::shownRunChanged, this, [this](ShownRun run) {
        const QSignalBlocker quiet(run_);
        run_->setCurrentIndex(static_cast<int>(run));
        showList();
    });
    showForm();
    showList();
}

QLayout* ChangesPanel::makeHead() {
    title_ = new QLabel;
    title_->setObjectName("interventionsTitle");
    title_->setWordWrap(true);
    run_ = named(new QComboBox, "interventionsRun", tr("Run that the views show"),
                 tr("Show the changed run, the original run or their difference in every view"));
    run_->addItems({tr("Changed"), tr("Original"), tr("Difference")});
    reset_ = named(new QPushButton(tr("Restore original")), "interventionsReset", tr("Restore the original model"),
                   tr("Remove every change and set every gate to 1"));
    connect(run_, &QComboBox::currentIndexChanged, this,
            [this](int index) { bench_.showRun(static_cast<ShownRun>(index)); });
    connect(reset_, &QPushButton::clicked, &bench_, &Workbench::restoreOriginal);
    return rowOf(title_, {run_, reset_});
}

QWidget* ChangesPanel::makeForm() {
    where_ = named(new QComboBox, "interventionWhere", tr("What to change"),
                   tr("A whole layer is everything that its attention and its MLP add to the residual stream. Removing "
                      "all of it skips the layer."));
    where_->addItems({tr("Head output"), tr("Attention output"), tr("MLP output"), tr("Whole layer"),
                      tr("Residual stream before layer"), tr("Embedding")});
    layer_ = named(new QSpinBox, "interventionLayer", tr("Layer"));
    head_ = named(new QSpinBox, "interventionHead", tr("Head"));
    layer_->setPrefix(tr("layer "));
    head_->setPrefix(tr("head "));
    token_ = named(new QComboBox, "interventionToken", tr("Token to change"),
                   tr("Change every token, or a single one. While a single token is chosen, click another in the text "
                      "or in the picture to choose that"));
    kind_ = named(new QComboBox, "interventionKind", tr("How to change it"),
                  tr("Remove the value; replace it with the mean over a run (mean ablation); replace it with the "
                     "value\nfrom another run (activation patching); or add a direction between runs (steering)"));
    kind_->addItems(
        {tr("Remove"), tr("Replace with a text's mean"), tr("Replace with a text's value"), tr("Add a direction")});
    amount_ = named(new QSlider(Qt::Horizontal), "interventionAmount", tr("Amount"),
                    tr("The share that is replaced, or the factor of a direction. Drag to adjust the change that is "
                       "selected below."));
    amount_->setRange(0, kAmountSteps);
    amountText_ = new QLabel;
    amountText_->setMinimumWidth(fontMetrics().horizontalAdvance("-4.00 "));
    add_ = named(new QPushButton(tr("Add")), "interventionAdd", tr("Add this change"));
    for (QComboBox* box : {where_, token_, kind_}) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(6);
    }

    auto* form = new QWidget;
    auto* rows = new QFormLayout(form);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    rows->addRow(tr("Where"), rowOf(where_, {layer_, head_}));
    rows->addRow(tr("Token"), token_);
    rows->addRow(tr("How"), kind_);
    source_ = new ChangeSource(*rows, bench_, this);
    rows->addRow(tr("Amount"), rowOf(amount_, {amountText_, add_}));
    rows->addRow(tr("Gate"), new GateSlider("interventionGate", bench_));
    for (QComboBox* box : {where_, kind_}) connect(box, &QComboBox::currentIndexChanged, this, &ChangesPanel::showForm);
    for (QSpinBox* box : {layer_, head_})
        connect(box, &QSpinBox::valueChanged, this, [this] { bench_.selectHead(layer_->value(), head_->value()); });
    connect(token_, &QComboBox::currentIndexChanged, this, &ChangesPanel::showRow);
    connect(source_, &ChangeSource::changed, this, &ChangesPanel::showSource);
    connect(source_, &ChangeSource::entered, this, &ChangesPanel::addDescribed);
    connect(amount_, &QSlider::valueChanged, this, &ChangesPanel::changeSelected);
    connect(add_, &QPushButton::clicked, this, &ChangesPanel::addDescribed);
    return form;
}

QLayout* ChangesPanel::makeList() {
    list_ = named(new QTreeWidget, "interventionsList", tr("Changes"),
                  tr("Select a change to set its amount or to remove it"));
    list_->setHeaderHidden(true);
    list_->setRootIsDecorated(false);
    list_->setUniformRowHeights(true);
    list_->setFixedHeight(fontMetrics().height() * 5);
    remove_ = named(new QPushButton(tr("Remove")), "interventionsRemove", tr("Remove the selected change"));
    connect(list_, &QTreeWidget::itemSelectionChanged, this,
            [this] { remove_->setEnabled(list_->currentItem() != nullptr && list_->currentItem()->isSelected()); });
    connect(remove_, &QPushButton::clicked, this, &ChangesPanel::removeSelected);
    auto* row = rowOf(list_, {remove_});
    row->setAlignment(remove_, Qt::AlignTop);
    return row;
}

QLayout* ChangesPanel::makeContinuations() {
    write_ = named(new QPushButton(tr("Compare continuations")), "interventionsWrite",
                   tr("Compare continuations of the original and the changed run"),
                   tr("Continue the text by 24 tokens in the original and the changed run, always with the most likely "
                      "token"));
    written_ = makeHintLabel("interventionsWritten");
    written_->setAccessibleName(tr("Continuations of the original and the changed run"));
    written_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    connect(write_, &QPushButton::clicked, this,
            [this] { bench_.post(RunAnalysisCommand{std::make_shared<ContinuationAnalysis>()}); });
    auto* row = new QHBoxLayout;
    row->addWidget(write_, 0, Qt::AlignTop);
    row->addWidget(written_, 1);
    return row;
}

} // namespace attn
