#include "app/lab/widgets/status_strip.h"

#include "app/figures/drawing.h"
#include "app/figures/token_label.h"
#include "app/lab/widgets/elided_label.h"
#include "app/lab/widgets/widget_makers.h"

#include <QLocale>
#include <QProgressBar>
#include <QToolButton>

#include <cmath>

namespace attn {
namespace {

QString activityText(const Status& status) {
    const QString detail = shownText(status.detail);
    switch (status.activity) {
    case Activity::Loading:
        return StatusStrip::tr("Loading %1").arg(detail);
    case Activity::Prefilling:
        if (status.preparesEngine) return StatusStrip::tr("Preparing the engine, once");
        return StatusStrip::tr("Reading the prompt");
    case Activity::Generating:
        return StatusStrip::tr("Generating");
    case Activity::Exporting:
        return StatusStrip::tr("Exporting %1").arg(detail);
    case Activity::Analysing:
        return StatusStrip::tr("Computing %1").arg(detail);
    case Activity::Idle:
        break;
    }
    return StatusStrip::tr("Ready");
}

QString bytes(int64_t count) { return QLocale().formattedDataSize(count, 0, QLocale::DataSizeIecFormat); }

} // namespace

StatusStrip::StatusStrip(QWidget* parent)
    : QWidget(parent), activity_(new ElidedLabel(this)), progress_(new QProgressBar(this)),
      cancel_(new QToolButton(this)), warnings_(new QToolButton(this)) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(spacing::kGap, 0, spacing::kGap, 0);
    row->setSpacing(spacing::kWide);
    activity_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred); // long file names must not widen the window
    progress_->setRange(0, 1000);
    progress_->setTextVisible(false);
    progress_->setMaximumWidth(160);
    progress_->setAccessibleName(tr("Progress"));
    named(cancel_, "cancel", tr("Stop the running task"));
    cancel_->setText(tr("Stop"));
    connect(cancel_, &QToolButton::clicked, this, &StatusStrip::cancelRequested);
    row->addWidget(activity_, 1);
    row->addWidget(progress_);
    row->addWidget(cancel_);
    named(warnings_, "modelWarnings", tr("Warnings about the open models"));
    warnings_->setAutoRaise(true);
    connect(warnings_, &QToolButton::clicked, this, &StatusStrip::warningsRequested);
    row->addWidget(warnings_);
    warnings_->hide();
    remark_ = addField(tr("Some controls are locked or hidden: File > Lock for class"));
    model_ = addField(tr("The open model and its size"));
    device_ = addField(tr("The device that runs the model. Choose another in Preferences"));
    speed_ = addField(tr("How fast the last run wrote. The Speed slider sets the most."));
    memory_ = addField(tr("Memory used on the device, and by the whole program"));
    QSizePolicy keepsRoom = cancel_->sizePolicy(); // keeps its space, so that nothing moves when it appears
    keepsRoom.setRetainSizeWhenHidden(true);
    cancel_->setSizePolicy(keepsRoom);
    progress_->hide();
    cancel_->hide();
}

QLabel* StatusStrip::addField(const QString& help) {
    auto* label = plainLabel({}, this);
    label->setToolTip(help);
    label->setMinimumWidth(1); // the window may become narrower
    layout()->addWidget(label);
    return label;
}

void StatusStrip::fitFields() {
    const QMargins margins = layout()->contentsMargins();
    const QList<QLabel*> fields{remark_, model_, speed_, device_, memory_}; // the first ones stay longest
    int room = width() - margins.left() - margins.right() - activity_->fontMetrics().horizontalAdvance(tr("Ready"));
    const auto taken = [&](const QWidget& widget) { return widget.sizeHint().width() + layout()->spacing(); };
    for (int at = 0; at < layout()->count(); ++at)
        if (QWidget* widget = layout()->itemAt(at)->widget();
            widget != activity_ && !fields.contains(widget) &&
            (!widget->isHidden() || widget->sizePolicy().retainSizeWhenHidden()))
            room -= taken(*widget);
    bool fits = true;
    for (QLabel* field : fields) {
        if (!field->text().isEmpty()) room -= taken(*field);
        fits = fits && room >= 0;
        field->setVisible(fits && !field->text().isEmpty());
    }
}

void StatusStrip::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fitFields();
}

void StatusStrip::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) fitFields();
}

void StatusStrip::addControl(QWidget* control) {
    auto* row = static_cast<QHBoxLayout*>(layout());
    row->insertWidget(row->indexOf(cancel_) + 1, control);
    fitFields();
}

void StatusStrip::setRemark(const QString& remark) {
    remark_->setText(remark);
    fitFields();
}

void StatusStrip::setWarnings(const QStringList& warnings) {
    warnings_->setText(warnings.size() == 1 ? tr("⚠ 1 warning") : tr("⚠ %1 warnings").arg(warnings.size()));
    warnings_->setToolTip(warnings.join('\n'));
    warnings_->setVisible(!warnings.isEmpty());
    fitFields();
}

void StatusStrip::setWork(const QString& what, double progress) {
    work_ = what;
    if (work_.isEmpty())
        showSession();
    else
        showActivity(work_, progress);
}

void StatusStrip::setTraining(const QString& what) {
    training_ = what;
    if (work_.isEmpty()) showSession();
}

void StatusStrip::showSession() {
    const bool isTraining = !training_.isEmpty() && sessionProgress_ < 0;
    showActivity(!isTraining      ? sessionText_
                 : isSessionIdle_ ? training_
                                  : tr("%1 · %2").arg(sessionText_, training_),
                 sessionProgress_);
    if (canStopReading_) cancel_->show();
}

void StatusStrip::showActivity(const QString& text, double progress) {
    activity_->setText(text);
    progress_->setVisible(progress >= 0);
    progress_->setValue(static_cast<int>(std::lround(1000 * progress)));
    cancel_->setVisible(progress >= 0);
    fitFields();
}

void StatusStrip::setSnapshot(const Snapshot& snapshot) {
    const Status& status = snapshot.status;
    const bool isLong = status.activity == Activity::Loading || status.activity == Activity::Exporting ||
                        status.activity == Activity::Analysing;
    canStopReading_ = snapshot.readsLongPrompt();
    sessionText_ = activityText(status);
    sessionProgress_ = isLong ? static_cast<double>(status.progress) : -1;
    isSessionIdle_ = status.activity == Activity::Idle;
    if (work_.isEmpty()) showSession();
    model_->setText(
        snapshot.model
            ? tr("%1 · %2 parameters").arg(shownText(snapshot.model->name), grouped(snapshot.model->parameterCount))
            : tr("no model"));
    // Some drivers add their build to the name. The tool tip shows the full name.
    const QString device = shownText(status.device);
    device_->setText(device.section(" (", 0, 0));
    device_->setToolTip(device.isEmpty() ? tr("No device yet") : tr("%1. Choose another in Preferences.").arg(device));
    speed_->setText(status.tokensPerSecond > 0
                        ? tr("%1 tokens/s").arg(status.tokensPerSecond, 0, 'f', status.tokensPerSecond < 10 ? 1 : 0)
                        : QString());
    memory_->setText(tr("device %1, program %2").arg(bytes(status.deviceBytes), bytes(status.residentBytes)));
    fitFields();
}

} // namespace attn
