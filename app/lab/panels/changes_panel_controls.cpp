#include "app/lab/panels/changes_panel.h"

#include "app/lab/widgets/hint_label.h"
#include "app/lab/widgets/matrix_view.h"

#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QVBoxLayout>

#include <algorithm>

// The form that describes a change, and the pattern to paint on.

namespace attn {

QWidget* ChangesPanel::makeForm() {
    const auto named = [](auto* widget, const char* id, const QString& name, const QString& help = {}) {
        widget->setObjectName(QString::fromLatin1(id));
        widget->setAccessibleName(name);
        widget->setToolTip(help.isEmpty() ? name : help);
        return widget;
    };
    where_ = named(new QComboBox, "interventionWhere", tr("What to change"),
                   tr("A whole layer is everything that its attention and its MLP add to the residual stream. Removing "
                      "all of it skips the layer."));
    where_->addItems({tr("Head output"), tr("Attention output"), tr("MLP output"), tr("Whole layer"),
                      tr("Residual stream before layer"), tr("Embedding")});
    layer_ = named(new QSpinBox, "interventionLayer", tr("Layer"));
    head_ = named(new QSpinBox, "interventionHead", tr("Head"));
    layer_->setPrefix(tr("layer "));
    head_->setPrefix(tr("head "));
    token_ = named(new QComboBox, "interventionToken", tr("Token to change"));
    kind_ = named(
        new QComboBox, "interventionKind", tr("How to change it"),
        tr("Remove the value; replace it with the mean over a text (mean ablation); replace it with the value\nfrom "
           "a run on another text (activation patching); or add the value of a text as a direction (steering)"));
    kind_->addItems(
        {tr("Remove"), tr("Replace with a text's mean"), tr("Replace with a text's value"), tr("Add a direction")});
    text_ = named(new QLineEdit, "interventionText", tr("Text that provides the value"));
    text_->setPlaceholderText(tr("this prompt"));
    contrast_ = named(new QLineEdit, "interventionContrast", tr("Minus the value from this text"),
                      tr("Subtracts the value at the last token of this text. The result is the direction from this "
                         "text to the other."));
    contrast_->setPlaceholderText(tr("optional"));
    textToken_ = named(new QSpinBox, "interventionTextToken", tr("Token of the text"));
    textToken_->setRange(-1, 1 << 20);
    textToken_->setSpecialValueText(tr("same token"));
    textToken_->setValue(-1);
    amount_ = named(new QSlider(Qt::Horizontal), "interventionAmount", tr("Amount"),
                    tr("The share that is replaced, or the factor of a direction. Drag to adjust the change that is "
                       "selected below."));
    amountText_ = new QLabel;
    amountText_->setMinimumWidth(fontMetrics().horizontalAdvance("-4.00 "));
    add_ = named(new QPushButton(tr("Add")), "interventionAdd", tr("Add this change"));
    textLabel_ = new QLabel(tr("Text"));
    contrastLabel_ = new QLabel(tr("Minus"));

    auto* form = new QWidget;
    auto* rows = new QFormLayout(form);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    const auto row = [](std::initializer_list<QWidget*> widgets) {
        auto* line = new QHBoxLayout;
        for (QWidget* widget : widgets)
            line->addWidget(widget, qobject_cast<QSpinBox*>(widget) || qobject_cast<QPushButton*>(widget) ||
                                            qobject_cast<QLabel*>(widget)
                                        ? 0
                                        : 1);
        return line;
    };
    rows->addRow(tr("Where"), row({where_, layer_, head_}));
    rows->addRow(tr("Token"), token_);
    rows->addRow(tr("How"), kind_);
    rows->addRow(textLabel_, row({text_, textToken_}));
    rows->addRow(contrastLabel_, contrast_);
    rows->addRow(tr("Amount"), row({amount_, amountText_, add_}));
    for (QComboBox* box : {where_, kind_}) connect(box, &QComboBox::currentIndexChanged, this, &ChangesPanel::showForm);
    for (QSpinBox* box : {layer_, head_})
        connect(box, &QSpinBox::valueChanged, this, [this] { bench_.selectHead(layer_->value(), head_->value()); });
    connect(amount_, &QSlider::valueChanged, this, &ChangesPanel::changeSelected);
    connect(add_, &QPushButton::clicked, this, [this] { bench_.addChanges(described()); });
    for (QLineEdit* line : {text_, contrast_})
        connect(line, &QLineEdit::returnPressed, this, [this] { bench_.addChanges(described()); });
    connect(text_, &QLineEdit::textChanged, this, &ChangesPanel::showCells);
    return form;
}

QWidget* ChangesPanel::makePattern() {
    pattern_ = new MatrixView;
    pattern_->setObjectName("interventionPattern");
    pattern_->setAccessibleName(tr("Pattern of the head, for painting"));
    pattern_->setToolTip(tr("Press and drag to set attention weights. The other cells of the row share the rest. Press "
                            "Return to paint the framed cell."));
    pattern_->installEventFilter(this);
    connect(pattern_, &MatrixView::activated, this, [this] {
        if (const auto& cell = pattern_->figure().hovered) paint(*cell);
    });
    brush_ = new QSlider(Qt::Horizontal);
    brush_->setObjectName("interventionBrush");
    brush_->setAccessibleName(tr("Attention weight to paint"));
    brush_->setToolTip(brush_->accessibleName());
    brush_->setRange(0, kAmountSteps);
    brush_->setValue(kAmountSteps);
    const auto button = [](const char* id, const QString& title, const QString& help) {
        auto* made = new QPushButton(title);
        made->setObjectName(QString::fromLatin1(id));
        made->setAccessibleName(help);
        made->setToolTip(help);
        return made;
    };
    uniform_ = button("interventionUniform", tr("Make uniform"), tr("Spread every query's attention evenly"));
    pin_ = button("interventionPin", tr("Pin to token"),
                  tr("Make every query look only at the token chosen above, or at the first token if none is chosen"));
    own_ = button("interventionOwn", tr("Restore pattern"), tr("Restore the head's original pattern"));
    connect(uniform_, &QPushButton::clicked, this, [this] {
        applyPattern([](PatternEdit& edit) { edit.kind = PatternEdit::Kind::Uniform; }, tr("making a pattern uniform"));
    });
    connect(pin_, &QPushButton::clicked, this, [this] {
        const int key = std::max(0, token_->currentIndex() - 1);
        applyPattern(
            [key](PatternEdit& edit) {
                edit.kind = PatternEdit::Kind::Pin;
                edit.key = key;
            },
            tr("pinning a pattern"));
    });
    connect(own_, &QPushButton::clicked, this, [this] {
        Changes after = bench_.changes();
        std::erase_if(after.patterns, [this](const PatternEdit& edit) {
            return edit.site == layer_->value() && edit.head == head_->value();
        });
        bench_.change(std::move(after), tr("restoring a pattern"), "own");
    });
    auto* part = new QWidget;
    auto* column = new QVBoxLayout(part);
    column->setContentsMargins(0, 0, 0, 0);
    auto* hint = makeHintLabel();
    hint->setText(tr("Change the pattern: paint cells, pin it to a token, or make it uniform."));
    column->addWidget(hint);
    column->addWidget(pattern_, 1);
    auto* buttons = new QHBoxLayout;
    for (QWidget* each : std::initializer_list<QWidget*>{uniform_, pin_, own_}) buttons->addWidget(each);
    auto* brush = new QHBoxLayout;
    auto* brushTitle = new QLabel(tr("Weight to paint"));
    brushTitle->setBuddy(brush_);
    brush->addWidget(brushTitle);
    brush->addWidget(brush_, 1);
    column->addLayout(brush);
    column->addLayout(buttons);
    return part;
}

Intervention::Kind ChangesPanel::kind() const { return static_cast<Intervention::Kind>(kind_->currentIndex()); }
ChangePlace ChangesPanel::place() const { return static_cast<ChangePlace>(where_->currentIndex()); }
float ChangesPanel::amount() const { return amountAt(amount_->value(), kind()); }

std::vector<Intervention> ChangesPanel::described() const { return described(place(), layer_->value()); }

std::vector<Intervention> ChangesPanel::described(ChangePlace place, int layer) const {
    Intervention made{.kind = kind(),
                      .head = place == ChangePlace::HeadOutput ? head_->value() : -1,
                      .position = token_->currentIndex() - 1,
                      .amount = amount()};
    if (made.kind != Intervention::Kind::Zero) made.text = text_->text().toStdString();
    if (made.kind == Intervention::Kind::Patch || made.kind == Intervention::Kind::Steer)
        made.textPosition = textToken_->value();
    if (made.kind == Intervention::Kind::Steer) made.contrast = contrast_->text().toStdString();
    const bool hasModel = snapshot_ && snapshot_->model;
    return changeAtPlace(place, layer, std::move(made),
                         hasModel ? std::span(snapshot_->model->hooks) : std::span<const std::string>());
}

void ChangesPanel::showForm() {
    const bool isDirection = kind() == Intervention::Kind::Steer, hasText = kind() != Intervention::Kind::Zero;
    for (QWidget* widget : std::initializer_list<QWidget*>{textLabel_, text_}) widget->setVisible(hasText);
    textToken_->setVisible(kind() == Intervention::Kind::Patch || isDirection);
    textToken_->setSpecialValueText(isDirection ? tr("last token") : tr("same token"));
    for (QWidget* widget : std::initializer_list<QWidget*>{contrastLabel_, contrast_}) widget->setVisible(isDirection);
    layer_->setVisible(place() != ChangePlace::Embedding);
    head_->setVisible(place() == ChangePlace::HeadOutput);
    const QSignalBlocker quiet(amount_);
    amount_->setRange(0, kAmountSteps);
    amount_->setValue(firstAmountStep(kind()));
    amountText_->setText(amountText(amount()));
    showCells();
}

} // namespace attn
