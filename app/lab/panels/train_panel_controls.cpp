#include "app/lab/panels/train_panel.h"

#include "app/lab/bridge/training_bridge.h"
#include "app/lab/common/control_groups.h"
#include "app/lab/common/icons.h"
#include "app/lab/widgets/fit_to_font.h"
#include "app/lab/widgets/real_box.h"
#include "app/lab/widgets/widget_makers.h"

#include <QCheckBox>
#include <QProgressBar>
#include <QPushButton>
#include <QSlider>
#include <QToolButton>

#include <array>
#include <optional>

// The controls of the panel below its form of the task: the buttons and the pace.

namespace attn {
namespace {

/// Steps per second at each slider step. The step after the last one means "as fast as possible".
constexpr std::array kPaces = {0.5, 1.0, 2.0, 5.0, 10.0, 20.0};
constexpr double kFirstRate = 1e-5; ///< the first step of a learning rate from zero

} // namespace

QWidget* TrainPanel::makeButtons() {
    auto* container = new QWidget;
    play_ = spoken(new QPushButton, "train.play", tr("Train or pause"));
    play_->setProperty("primary", true);
    keepCharacters(play_, 20); // as wide as "Continue" with its icon, so that the text beside it stays
    step_ = named(new QPushButton(tr("Step")), "trainStep", tr("Train one step"),
                  tr("Update the parameters once, then pause"));
    reset_ = named(new QPushButton(tr("Reset")), "trainReset", tr("Reset training"),
                   tr("Start a new training run from untrained parameters. The current run stays in the list."));
    step_->setIcon(themedIcon("step", QPalette::ButtonText));
    reset_->setIcon(themedIcon("reset", QPalette::ButtonText));
    progress_ = spoken(new QProgressBar, "trainProgress", tr("Training progress"));
    progress_->setTextVisible(false);
    progress_->setMaximumHeight(8);
    state_ = makeTextLabel("trainState");
    state_->setMinimumHeight(2 * state_->fontMetrics().lineSpacing()); // so that what is below does not move
    state_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    hint_ = makeHintLabel("trainHint");
    memory_ = helped(makeHintLabel("trainMemory"), "trainMemory",
                     tr("Memory of the device for activations and gradients of one step, from its plan. Parameters and "
                        "the optimiser's numbers come on top."));
    makeColumn(container, 0,
               {makeRow({makeColumn({play_, step_, reset_, room()}), {makeColumn({{state_, 1}, progress_}), 1}}), hint_,
                memory_});
    assignControlGroup(container, "training");
    connect(play_, &QPushButton::clicked, this, &TrainPanel::playOrPause);
    connect(step_, &QPushButton::clicked, this, &TrainPanel::step);
    connect(reset_, &QPushButton::clicked, this, &TrainPanel::reset);
    return container;
}

QWidget* TrainPanel::makePace() {
    auto* container = new QWidget;
    auto* grid = layoutOf<QGridLayout>(container);
    grid->setColumnStretch(1, 1);
    pace_ = named(new QSlider(Qt::Horizontal), "trainPace", tr("Training speed in steps per second"),
                  tr("Slow training down; the right end is as fast as the device allows"));
    pace_->setRange(0, static_cast<int>(kPaces.size()));
    pace_->setPageStep(1);
    pace_->setValue(pace_->maximum());
    paceLabel_ = plainLabel(tr("fastest"));
    keepWidthOf(paceLabel_, tr("%1 steps/s").arg("0.5 "));
    ownRate_ = named(new QCheckBox(tr("Learning rate")), "ownRate", tr("Set the learning rate yourself"),
                     tr("Off: the schedule sets the learning rate. On: the value here applies from the next step."));
    rate_ = named(new RealBox, "rate", tr("Current learning rate"), tr("The learning rate of the next steps"));
    rate_->setRange(0, 100); // as in the recipe
    rate_->setSingleStep(kFirstRate);
    rate_->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
    rate_->setKeyboardTracking(false);
    rate_->setEnabled(false);
    grid->addWidget(labelFor(pace_, tr("Speed")), 0, 0);
    grid->addWidget(pace_, 0, 1);
    grid->addWidget(paceLabel_, 0, 2);
    grid->addWidget(ownRate_, 1, 0);
    grid->addWidget(rate_, 1, 1, 1, 2);
    assignControlGroup(container, "training");
    connect(pace_, &QSlider::valueChanged, this, [this] {
        paceLabel_->setText(pace() > 0 ? tr("%1 steps/s").arg(pace()) : tr("fastest"));
        bench_.training().session().setPace(pace());
    });
    const auto sendRate = [this] {
        bench_.training().session().setLearningRate(ownRate_->isChecked() ? std::optional(rate_->value())
                                                                          : std::nullopt);
    };
    connect(ownRate_, &QCheckBox::toggled, this, [this, sendRate](bool on) {
        rate_->setEnabled(on);
        sendRate();
    });
    connect(rate_, &QDoubleSpinBox::valueChanged, this, sendRate);
    return container;
}

double TrainPanel::pace() const {
    const auto at = static_cast<size_t>(pace_->value());
    return at < kPaces.size() ? kPaces[at] : 0;
}

} // namespace attn
