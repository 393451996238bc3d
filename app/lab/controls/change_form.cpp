#include "app/lab/controls/change_form.h"

#include "app/figures/drawing.h"
#include "app/lab/controls/other_picture_box.h"
#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/picture_bench.h"
#include "engine/inference/named_changes.h"
#include "engine/inference/whole_layer.h"

#include <QComboBox>
#include <QFormLayout>
#include <QLineEdit>
#include <QSpinBox>

#include <algorithm>

namespace attn {
namespace {

constexpr float kMostFactor = 4.0f; ///< largest factor of a direction; the smallest is its negative

} // namespace

std::vector<ValueChange> changeAtPlace(ChangePlace place, const Site& site, ValueChange change,
                                       std::span<const std::string> hooks) {
    switch (place) {
    case ChangePlace::HeadOutput:
        change.hook = site.hook("z");
        break;
    case ChangePlace::AttentionOut:
        change.hook = outputHook(site);
        break;
    case ChangePlace::MlpOut:
        change.hook = site.inBlock("hook_mlp_out");
        break;
    case ChangePlace::WholeLayer:
        return wholeLayer(std::move(change), site.block,
                          std::ranges::find(hooks, site.inBlock("hook_mlp_out")) != hooks.end());
    case ChangePlace::Stream:
        change.hook = site.inBlock("hook_resid_pre");
        break;
    case ChangePlace::Embedding:
        change.hook = "hook_embed";
        break;
    }
    return {change};
}

bool isSamePlace(std::span<const ValueChange> a, std::span<const ValueChange> b) {
    return std::ranges::equal(a, b, [](const ValueChange& x, const ValueChange& y) {
        return x.kind == y.kind && x.hook == y.hook && x.head == y.head;
    });
}

float amountAt(int step, ValueChange::Kind kind) {
    const float share = static_cast<float>(step) / kAmountSteps;
    return kind == ValueChange::Kind::Steer ? (2 * share - 1) * kMostFactor : share;
}

int firstAmountStep(ValueChange::Kind kind) {
    return kind == ValueChange::Kind::Steer ? kAmountSteps * 3 / 4 : kAmountSteps;
}

QString amountText(float amount) { return formatNumber(static_cast<double>(amount), 2); }

ChangeSource::ChangeSource(QFormLayout& form, Workbench& bench, QWidget* parent)
    : QObject(parent), bench_(bench), form_(form) {
    text_ = named(new QLineEdit, "interventionText", tr("Text that provides the value"));
    text_->setPlaceholderText(tr("this prompt"));
    contrast_ = named(new QLineEdit, "interventionContrast", tr("Minus the value from this text"),
                      tr("Subtracts the value at the last token of this text. The result is the direction from this "
                         "text to the other."));
    contrast_->setPlaceholderText(tr("optional"));
    token_ = named(new WholeBox, "interventionTextToken", tr("Token of the text"));
    token_->setRange(-1, 1 << 20);
    token_->setValue(-1);
    other_ = new OtherPictureBox("interventionOther", bench);
    source_ = named(new QComboBox, "interventionSource", tr("Source of the value"),
                    tr("This picture without hidden patches and without changes, or the other picture"));
    source_->addItems({tr("use this picture"), tr("use the other picture")});
    form.addRow(tr("Text"), textRow_ = makeRow({{text_, 1}, token_}));
    form.addRow(tr("Minus"), contrast_);
    form.addRow(tr("Picture"), pictureRow_ = makeRow({{other_, 1}, source_}));
    connect(text_, &QLineEdit::textChanged, this, &ChangeSource::changed);
    connect(source_, &QComboBox::currentIndexChanged, this, &ChangeSource::changed);
    for (QLineEdit* line : {text_, contrast_}) connect(line, &QLineEdit::returnPressed, this, &ChangeSource::entered);
    connect(&bench.pictures(), &PictureBench::changed, this, &ChangeSource::changed);
}

void ChangeSource::show(ValueChange::Kind kind) {
    const bool isPicture = bench_.readsPictures(), isDirection = kind == ValueChange::Kind::Steer,
               hasText = !isPicture && kind != ValueChange::Kind::Zero;
    form_.setRowVisible(textRow_, hasText);
    form_.setRowVisible(contrast_, hasText && isDirection);
    form_.setRowVisible(pictureRow_, isPicture);
    token_->setVisible(hasText && kind != ValueChange::Kind::Mean);
    token_->setSpecialValueText(isDirection ? tr("last token") : tr("same token"));
    source_->setVisible(isPicture && kind != ValueChange::Kind::Zero && !isDirection);
}

bool ChangeSource::isOther(ValueChange::Kind kind) const {
    return kind == ValueChange::Kind::Steer || (kind != ValueChange::Kind::Zero && source_->currentIndex() == 1);
}

void ChangeSource::describe(ValueChange& change) const {
    const bool isDirection = change.kind == ValueChange::Kind::Steer;
    if (change.kind == ValueChange::Kind::Zero) return;
    if (bench_.readsPictures()) {
        if (isOther(change.kind)) change.text = bench_.pictures().setup().otherName.toStdString();
        if (isDirection) change.contrast = "this picture";
        return;
    }
    change.text = text_->text().toStdString();
    if (change.kind != ValueChange::Kind::Mean) change.textPosition = token_->value();
    if (isDirection) change.contrast = contrast_->text().toStdString();
}

QString ChangeSource::problem(ValueChange::Kind kind) const {
    const bool isMissing = bench_.readsPictures() && isOther(kind) && !bench_.pictures().setup().given.other;
    return isMissing ? tr("Choose the other picture first") : QString();
}

QString ChangeSource::text() const { return bench_.readsPictures() ? QString() : text_->text(); }

} // namespace attn
