#include "app/lab/controls/change_form.h"

#include "app/figures/drawing.h"
#include "app/lab/controls/other_picture_box.h"
#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/input_kind.h"
#include "app/lab/workbench/picture_bench.h"
#include "engine/inference/named_changes.h"
#include "engine/inference/whole_layer.h"

#include <QComboBox>
#include <QFormLayout>
#include <QLayout>
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

class ChangeSource::Rows {
public:
    using Kind = ValueChange::Kind;
    virtual ~Rows() = default;
    virtual void show(Kind kind, bool isOfInput) = 0;     ///< isOfInput: the open model reads such an input
    virtual void describe(ValueChange& change) const = 0; ///< @pre it has a source
    virtual QString problem(Kind) const { return {}; }
    virtual QString text() const { return {}; }
};

namespace {

/// A typed text, of which one token may be chosen, and a second one whose value is subtracted.
class TextRows : public ChangeSource::Rows {
public:
    TextRows(QFormLayout& form, ChangeSource& source) : form_(form) {
        text_ = named(new QLineEdit, "interventionText", ChangeSource::tr("Text that provides the value"));
        text_->setPlaceholderText(ChangeSource::tr("this prompt"));
        contrast_ = named(new QLineEdit, "interventionContrast", ChangeSource::tr("Minus the value from this text"),
                          ChangeSource::tr("Subtracts the value at the last token of this text. The result is the "
                                           "direction from this text to the other."));
        contrast_->setPlaceholderText(ChangeSource::tr("optional"));
        token_ = named(new WholeBox, "interventionTextToken", ChangeSource::tr("Token of the text"));
        token_->setRange(-1, 1 << 20);
        token_->setValue(-1);
        form.addRow(ChangeSource::tr("Text"), row_ = makeRow({{text_, 1}, token_}));
        form.addRow(ChangeSource::tr("Minus"), contrast_);
        QObject::connect(text_, &QLineEdit::textChanged, &source, &ChangeSource::changed);
        for (QLineEdit* line : {text_, contrast_})
            QObject::connect(line, &QLineEdit::returnPressed, &source, &ChangeSource::entered);
    }
    void show(Kind kind, bool isOfInput) override {
        const bool isDirection = kind == Kind::Steer, hasText = isOfInput && kind != Kind::Zero;
        form_.setRowVisible(row_, hasText);
        form_.setRowVisible(contrast_, hasText && isDirection);
        token_->setVisible(hasText && kind != Kind::Mean);
        token_->setSpecialValueText(isDirection ? ChangeSource::tr("last token") : ChangeSource::tr("same token"));
    }
    void describe(ValueChange& change) const override {
        change.text = text_->text().toStdString();
        if (change.kind != Kind::Mean) change.textPosition = token_->value();
        if (change.kind == Kind::Steer) change.contrast = contrast_->text().toStdString();
    }
    QString text() const override { return text_->text(); }

private:
    QFormLayout& form_;
    QLayout* row_;
    QLineEdit *text_, *contrast_;
    QSpinBox* token_;
};

/// This picture, or the other one.
class PictureRows : public ChangeSource::Rows {
public:
    PictureRows(QFormLayout& form, ChangeSource& source, Workbench& bench) : form_(form), pictures_(bench.pictures()) {
        source_ = named(new QComboBox, "interventionSource", ChangeSource::tr("Source of the value"),
                        ChangeSource::tr("This picture without hidden patches and without changes, or the other "
                                         "picture"));
        source_->addItems({ChangeSource::tr("use this picture"), ChangeSource::tr("use the other picture")});
        form.addRow(ChangeSource::tr("Picture"),
                    row_ = makeRow({{new OtherPictureBox("interventionOther", bench), 1}, source_}));
        QObject::connect(source_, &QComboBox::currentIndexChanged, &source, &ChangeSource::changed);
        QObject::connect(&pictures_, &PictureBench::changed, &source, &ChangeSource::changed);
    }
    void show(Kind kind, bool isOfInput) override {
        form_.setRowVisible(row_, isOfInput);
        source_->setVisible(isOfInput && kind != Kind::Zero && kind != Kind::Steer);
    }
    void describe(ValueChange& change) const override {
        if (isOther(change.kind)) change.text = pictures_.setup().otherName.toStdString();
        if (change.kind == Kind::Steer) change.contrast = "this picture";
    }
    QString problem(Kind kind) const override {
        const bool isMissing = isOther(kind) && !pictures_.setup().given.other;
        return isMissing ? ChangeSource::tr("Choose the other picture first") : QString();
    }

private:
    /// The value comes from the other picture.
    bool isOther(Kind kind) const {
        return kind == Kind::Steer || (kind != Kind::Zero && source_->currentIndex() == 1);
    }

    QFormLayout& form_;
    PictureBench& pictures_;
    QLayout* row_;
    QComboBox* source_;
};

} // namespace

ChangeSource::ChangeSource(QFormLayout& form, Workbench& bench, QWidget* parent) : QObject(parent), bench_(bench) {
    rows_[AxisKind::Tokens] = std::make_unique<TextRows>(form, *this);
    rows_[AxisKind::Patches] = std::make_unique<PictureRows>(form, *this, bench);
}

ChangeSource::~ChangeSource() = default;

const ChangeSource::Rows& ChangeSource::rows() const {
    const auto found = rows_.find(bench_.input().axis());
    return *(found == rows_.end() ? rows_.begin() : found)->second;
}

void ChangeSource::show(ValueChange::Kind kind) {
    for (const auto& [axis, rows] : rows_) rows->show(kind, rows.get() == &this->rows());
}

void ChangeSource::describe(ValueChange& change) const {
    if (change.kind != ValueChange::Kind::Zero) rows().describe(change);
}

QString ChangeSource::problem(ValueChange::Kind kind) const { return rows().problem(kind); }

QString ChangeSource::text() const { return rows().text(); }

} // namespace attn
