#include "app/lab/widgets/param_controls.h"

#include "app/lab/widgets/engine_text.h"
#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/real_box.h"
#include "app/lab/widgets/widget_makers.h"

#include <QCheckBox>
#include <QCoreApplication>
#include <QGridLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace attn {
namespace {

constexpr double kMostSliderSteps = 2000;

QString text(std::string_view view) { return QCoreApplication::translate("attn::Param", std::string(view).c_str()); }

double slidesTo(const Param& param) { return param.usualMaximum != 0 ? param.usualMaximum : param.maximum; }

/// The decimals of a number beside a slider. A number without a slider shows all its digits.
int decimalsFor(const Param& param) {
    if (param.kind != Param::Kind::Real || !ParamControls::hasSlider(param)) return 0;
    return std::clamp(static_cast<int>(std::ceil(-std::log10(param.step) - 1e-9)), 1, 6);
}

} // namespace

ParamControls::ParamControls(std::span<const Param> params, QWidget* parent) : QWidget(parent) {
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setVerticalSpacing(spacing::kTight);
    grid->setColumnStretch(1, 1);
    controls_.reserve(params.size());
    for (const Param& param : params) {
        const int row = grid->rowCount();
        Control& made = controls_.emplace_back(Control{.param = param});
        const QString id = fromEngine(param.id);
        const QString title = text(param.title);
        QString help = text(param.help);
        if (!help.isEmpty()) help.front() = help.front().toUpper();
        if (param.kind == Param::Kind::Toggle) {
            auto* box = new QCheckBox(title, this);
            box->setToolTip(help);
            box->setAccessibleName(title);
            grid->addWidget(box, row, 0, 1, 3);
            made.toggle = box;
            connect(box, &QCheckBox::toggled, this, [this, id](bool on) { emit valueChanged(id, on ? 1 : 0); });
        } else {
            auto* label = plainLabel(title, this);
            if (param.kind == Param::Kind::Real) {
                made.number = new RealBox(decimalsFor(param), this);
            } else {
                made.number = new RangedBox<QDoubleSpinBox>(this);
                made.number->setDecimals(0);
            }
            made.number->setRange(param.minimum, param.maximum);
            made.number->setSingleStep(param.step);
            made.number->setKeyboardTracking(false);
            made.number->setToolTip(help);
            made.number->setAccessibleName(title);
            made.label = label;
            label->setBuddy(made.number);
            label->setToolTip(help);
            grid->addWidget(label, row, 0);
            const bool slides = hasSlider(param);
            if (slides) {
                made.slider = new QSlider(Qt::Horizontal, this);
                made.slider->setRange(0, sliderPosition(param, slidesTo(param)));
                made.slider->setToolTip(help);
                made.slider->setAccessibleName(tr("%1, slider").arg(title));
                made.slider->setMinimumWidth(40);
                grid->addWidget(made.slider, row, 1);
                connect(made.slider, &QSlider::valueChanged, this, [number = made.number, param](int position) {
                    number->setValue(param.minimum + position * param.step);
                });
            }
            if (!slides && param.kind == Param::Kind::Real)
                made.number->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
            grid->addWidget(made.number, row, slides ? 2 : 1, 1, slides ? 1 : 2);
            connect(made.number, &QDoubleSpinBox::valueChanged, this,
                    [this, id, slider = made.slider, param](double value) {
                        if (slider) {
                            const QSignalBlocker quiet(slider);
                            slider->setValue(sliderPosition(param, value));
                        }
                        emit valueChanged(id, value);
                    });
        }
        setValue(param.id, param.initial);
    }
}

ParamControls::Control& ParamControls::control(std::string_view id) {
    for (Control& candidate : controls_)
        if (candidate.param.id == id) return candidate;
    assert(false && "a control that no Param describes");
    return controls_.front();
}

bool ParamControls::hasSlider(const Param& param) {
    return (slidesTo(param) - param.minimum) / param.step <= kMostSliderSteps;
}

void ParamControls::setMaximum(std::string_view id, double maximum) {
    Control& target = control(id);
    if (target.toggle || target.param.maximum == maximum) return;
    target.param.maximum = maximum;
    const QSignalBlocker quietNumber(target.number);
    target.number->setMaximum(maximum);
    if (!target.slider) return;
    const QSignalBlocker quietSlider(target.slider);
    target.slider->setMaximum(sliderPosition(target.param, slidesTo(target.param)));
}

void ParamControls::setShown(std::string_view id, bool on) {
    const Control& target = control(id);
    for (QWidget* widget : std::initializer_list<QWidget*>{target.label, target.toggle, target.slider, target.number})
        if (widget) widget->setVisible(on);
}

void ParamControls::setUsable(std::string_view id, bool on) {
    const Control& target = control(id);
    for (QWidget* widget : std::initializer_list<QWidget*>{target.label, target.toggle, target.slider, target.number})
        if (widget) widget->setEnabled(on);
}

int ParamControls::sliderPosition(const Param& param, double value) const {
    return static_cast<int>(std::lround((value - param.minimum) / param.step));
}

double ParamControls::value(std::string_view id) const {
    for (const Control& candidate : controls_)
        if (candidate.param.id == id)
            return candidate.toggle ? (candidate.toggle->isChecked() ? 1 : 0) : candidate.number->value();
    return 0;
}

void ParamControls::setValue(std::string_view id, double value) {
    Control& target = control(id);
    if (target.toggle) {
        const QSignalBlocker quiet(target.toggle);
        target.toggle->setChecked(value != 0);
        return;
    }
    const QSignalBlocker quietNumber(target.number);
    target.number->setValue(value);
    if (target.slider) {
        const QSignalBlocker quietSlider(target.slider);
        target.slider->setValue(sliderPosition(target.param, value));
    }
}

} // namespace attn
