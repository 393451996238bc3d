// The timeline of the open run.
#include "app/lab/panels/train_panel.h"

#include "app/lab/bridge/training_bridge.h"
#include "app/lab/common/control_groups.h"
#include "app/lab/common/icons.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/widgets/fit_to_font.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/io/run_folder.h"

#include <QMouseEvent>
#include <QSignalBlocker>
#include <QSlider>
#include <QStyle>
#include <QToolButton>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace attn {

void TrainPanel::makeTimeline() {
    timelinePart_ = new QWidget;
    const auto button = [](const char* name, const QString& text, const QString& title, const QString& help) {
        auto* made = named(new QToolButton, name, title, help);
        made->setText(text);
        return made;
    };
    animate_ = button("animate", {}, tr("Play the run as an animation"),
                      tr("Play the run from its first checkpoint to its last. Press again to pause."));
    animate_->setIcon(themedIcon("play", QPalette::ButtonText));
    animate_->setCheckable(true);
    timeline_ = named(new QSlider(Qt::Horizontal), "timeline", tr("Timeline of the run"),
                      tr("Drag to show any checkpoint of the run in every view. You can generate text from it."));
    timeline_->setPageStep(1);
    timeline_->installEventFilter(this);
    live_ =
        button("live", tr("Live"), tr("Follow the run in every view"), tr("Show the current parameters in every view"));
    live_->setCheckable(true);
    live_->setProperty("segment", true);
    export_ = button("exportRun", tr("Export…"), tr("Export the run as an animation"),
                     tr("Save the current figure at every checkpoint, as a GIF or as PNG files"));
    shownStep_ = makeHintLabel("moment");
    shownStep_->setWordWrap(false);
    keepWidthOf(shownStep_, tr("Showing step %1; the newest follows.").arg(99'999)); // so that the slider stays
    makeRow(timelinePart_, 0, {animate_, {timeline_, 1}, live_, export_, shownStep_});
    assignControlGroup(timelinePart_, "timeline");
    connect(timeline_, &QSlider::valueChanged, this, &TrainPanel::scrub);
    connect(animate_, &QToolButton::toggled, this, &TrainPanel::animate);
    connect(live_, &QToolButton::toggled, this, [this](bool on) { bench_.training().follow(on); });
    connect(export_, &QToolButton::clicked, this, &TrainPanel::exportRequested);
}

/// Moves the timeline to the clicked place, where a drag can continue.
bool TrainPanel::eventFilter(QObject* watched, QEvent* event) {
    if (watched == timeline_ && event->type() == QEvent::MouseButtonPress) {
        const auto* mouse = static_cast<QMouseEvent*>(event);
        const int handle = timeline_->style()->pixelMetric(QStyle::PM_SliderLength, nullptr, timeline_);
        if (mouse->button() == Qt::LeftButton)
            timeline_->setValue(QStyle::sliderValueFromPosition(timeline_->minimum(), timeline_->maximum(),
                                                                static_cast<int>(mouse->position().x()) - handle / 2,
                                                                timeline_->width() - handle));
    }
    return Panel::eventFilter(watched, event);
}

void TrainPanel::listCheckpoints() {
    const QString active = bench_.runs().active();
    if (std::exchange(listed_, active) != active) checkpoints_.clear(); // they are another run's
    showTimeline();
    if (active.isEmpty()) return listing_.cancel();
    using Paths = std::vector<std::filesystem::path>;
    listing_.start<Paths>(
        "timeline", [folder = active.toStdString()](const std::atomic<bool>&) { return checkpoints(folder); },
        [this](std::variant<Paths, Failure> found) {
            if (auto* paths = std::get_if<Paths>(&found)) checkpoints_ = std::move(*paths);
            showTimeline();
        });
}

void TrainPanel::showTimeline() {
    const QString active = bench_.runs().active();
    const bool isLive = bench_.training().isFollowing() && training_->folder == active.toStdString();
    const QSignalBlocker quiet(timeline_), quietLive(live_);
    const int last = std::max(0, static_cast<int>(checkpoints_.size()) - 1);
    timeline_->setMaximum(last);
    if (isLive) timeline_->setValue(last);
    const auto& shownStep = bench_.training().shownStep();
    const bool isOfRun = shownStep && shownStep->run == active;
    const bool isBehind = isLive && isOfRun && shownStep->step < training_->step;
    live_->setChecked(isLive);
    live_->setEnabled(!training_->folder.empty());
    timeline_->setEnabled(checkpoints_.size() > 1);
    animate_->setEnabled(checkpoints_.size() > 1);
    export_->setEnabled(checkpoints_.size() > 1);
    shownStep_->setText(checkpoints_.empty() ? tr("Scrub through training here.")
                        : isLive && !isOfRun ? tr("The first picture of this run follows.")
                        : isBehind           ? tr("Showing step %1; the newest follows.").arg(shownStep->step)
                        : isLive             ? tr("Showing the current step.")
                        : isOfRun            ? tr("Showing step %1 of the run.").arg(shownStep->step)
                                             : tr("Drag to replay the run."));
}

void TrainPanel::scrub(int position) {
    if (position < 0 || position >= static_cast<int>(checkpoints_.size())) return;
    const std::filesystem::path& checkpoint = checkpoints_[static_cast<size_t>(position)];
    bench_.training().show(bench_.runs().active(), QString::fromStdString(checkpoint.string()),
                           *checkpointStep(checkpoint));
    showTimeline();
}

void TrainPanel::animate() {
    if (!animate_->isChecked()) {
        animate_->setIcon(themedIcon("play", QPalette::ButtonText));
        return animation_.stop();
    }
    animate_->setIcon(themedIcon("pause", QPalette::ButtonText));
    if (timeline_->value() >= timeline_->maximum()) timeline_->setValue(0);
    animation_.start();
}

} // namespace attn
