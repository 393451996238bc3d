#include "app/lab/panels/jobs_button.h"

#include "app/figures/token_label.h"
#include "app/lab/bridge/job_bridge.h"
#include "app/lab/common/control_groups.h"
#include "app/lab/common/focus_ring.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/workbench.h"
#include "engine/core/attempt.h"

#include <QAction>
#include <QEvent>
#include <QFrame>
#include <QScreen>
#include <QScrollArea>
#include <QStyleOptionToolButton>

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {
namespace {

constexpr int kMomentMs = 300;
constexpr int kReadEveryMs = 1000;
constexpr int kMostCharacters = 34; ///< of the button
constexpr int kCharactersAcross = 62, kLinesDown = 20;

/// The panel that shows a kind of jobs.
constexpr std::pair<const char*, const char*> kPanels[] = {
    {"training", "train"}, {"analysis", "lenses"}, {"costs", "playground"}, {"model", "model"}};

const char* panelOf(const JobStatus& job) {
    const auto found = std::ranges::find(kPanels, job.kind, [](const auto& each) { return std::string(each.first); });
    return found == std::end(kPanels) ? nullptr : found->second;
}

QString stateText(JobState state) {
    switch (state) {
    case JobState::Waiting:
        return JobsButton::tr("Waiting");
    case JobState::Running:
        return JobsButton::tr("Running");
    case JobState::Paused:
        return JobsButton::tr("Paused");
    case JobState::Finished:
        return JobsButton::tr("Finished");
    case JobState::Stopped:
        return JobsButton::tr("Stopped");
    case JobState::Interrupted:
        return JobsButton::tr("Interrupted: its program was ended");
    case JobState::Failed:
        return JobsButton::tr("Failed");
    }
    return {};
}

QString timeLeft(double seconds) {
    constexpr double kMinute = 60, kHour = 3600;
    if (seconds < 1.5 * kMinute) return JobsButton::tr("%1 s left").arg(seconds, 0, 'f', 0);
    if (seconds < 1.5 * kHour) return JobsButton::tr("%1 min left").arg(seconds / kMinute, 0, 'f', 0);
    return JobsButton::tr("%1 h left").arg(seconds / kHour, 0, 'f', 1);
}

QString percent(double fraction) { return JobsButton::tr("%1 %").arg(std::floor(100 * fraction), 0, 'f', 0); }

/// "Running · step 12 of 400 · 3 min left".
QString detailText(const JobStatus& job) {
    QStringList parts{stateText(job.state)};
    const Progress& progress = job.progress;
    if (!progress.sentence.empty()) parts << shownText(progress.sentence);
    if (progress.steps > 0)
        parts << JobsButton::tr("step %1 of %2").arg(progress.step).arg(progress.steps);
    else if (progress.fraction >= 0)
        parts << percent(progress.fraction);
    if (progress.secondsLeft && job.state == JobState::Running) parts << timeLeft(*progress.secondsLeft);
    if (job.failure) parts << shownText(job.failure->sentence());
    return parts.join(QStringLiteral(" · "));
}

JobRow rowOf(const JobStatus& job, const QString& key) {
    return {.key = key,
            .title = shownText(job.title),
            .detail = detailText(job),
            .fraction = job.progress.fraction,
            .buttons = {}};
}

QString keyOf(const FolderJob& job) { return QString::fromStdString(job.record.status.folder.string()); }

} // namespace

JobsButton::JobsButton(Workbench& bench, QWidget* parent)
    : QToolButton(parent), bench_(bench), popover_(new QFrame(this, Qt::Popup)), scroll_(new QScrollArea),
      view_(new JobsView) {
    named(this, "jobsButton", tr("Jobs"), tr("Show what is running: pause, continue or stop it"));
    setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Preferred); // large text is cut rather than widening the window
    setFocusPolicy(Qt::StrongFocus);
    spoken(popover_, "jobsPopover", tr("Jobs"));
    popover_->setFrameShape(QFrame::StyledPanel);
    popover_->setAutoFillBackground(true);
    popover_->setProperty(FocusRing::kPopover, true);
    spoken(scroll_, "jobsList", tr("Jobs"));
    scroll_->setFrameShape(QFrame::NoFrame);
    scroll_->setWidgetResizable(true);
    scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll_->setWidget(view_);
    makeColumn(popover_, spacing::kWide, {{scroll_, 1}});
    connect(this, &QToolButton::clicked, this, &JobsButton::open);
    connect(view_, &JobsView::pressed, this, &JobsButton::act);
    textPause_.setSingleShot(true);
    textPause_.setInterval(kMomentMs);
    connect(&textPause_, &QTimer::timeout, this, &JobsButton::showText);
    connect(&JobBridge::ofProgram(), &JobBridge::changed, this, [this] {
        if (!textPause_.isActive()) textPause_.start();
        if (isOpen()) showRows();
    });
    reading_.setInterval(kReadEveryMs);
    connect(&reading_, &QTimer::timeout, this, [this] {
        if (!isOpen()) return reading_.stop();
        listFolder();
    });
    showText();
}

bool JobsButton::isOpen() const { return popover_->isVisible(); }

QSize JobsButton::sizeFor(const QString& text) const {
    QStyleOptionToolButton option;
    initStyleOption(&option);
    option.text = text;
    QSize content = fontMetrics().size(Qt::TextShowMnemonic, text);
    content.rwidth() += 2 * fontMetrics().horizontalAdvance(' ');
    return style()->sizeFromContents(QStyle::CT_ToolButton, &option, content, this);
}

QSize JobsButton::sizeHint() const { return sizeFor(withoutKeys(text_)); }
QSize JobsButton::minimumSizeHint() const { return sizeFor(tr("Jobs")); }

void JobsButton::say(const QString& text) {
    text_ = text;
    updateGeometry();
    fitText();
}

void JobsButton::fitText() {
    const int missing = sizeHint().width() - width();
    const int room = fontMetrics().horizontalAdvance(text_) - missing;
    const QString fitting = missing > 0 ? fontMetrics().elidedText(text_, Qt::ElideRight, room) : text_;
    if (withoutKeys(fitting) != text()) setText(withoutKeys(fitting));
}

void JobsButton::resizeEvent(QResizeEvent* event) {
    QToolButton::resizeEvent(event);
    fitText();
}

void JobsButton::changeEvent(QEvent* event) {
    QToolButton::changeEvent(event);
    if (event->type() == QEvent::FontChange) textPause_.start();
}

void JobsButton::showText() {
    const std::vector<JobStatus>& jobs = JobBridge::ofProgram().snapshot()->jobs;
    const auto running = std::ranges::find(jobs, JobState::Running, &JobStatus::state);
    if (running == jobs.end()) return say(tr("Jobs"));
    QStringList parts{fontMetrics().elidedText(shownText(running->title), Qt::ElideRight,
                                               fontMetrics().averageCharWidth() * (kMostCharacters / 2))};
    if (running->progress.fraction >= 0) parts << percent(running->progress.fraction);
    if (running->progress.secondsLeft) parts << timeLeft(*running->progress.secondsLeft);
    const auto others = std::ranges::count(jobs, JobState::Running, &JobStatus::state) - 1;
    if (others > 0) parts << tr("and %1 more").arg(others);
    say(fontMetrics().elidedText(parts.join(QStringLiteral(" · ")), Qt::ElideRight,
                                 fontMetrics().averageCharWidth() * kMostCharacters));
}

void JobsButton::open() {
    problem_.clear();
    showRows();
    listFolder();
    reading_.start();
    place();
    popover_->show();
    const auto buttons = view_->findChildren<QToolButton*>();
    const auto first = std::ranges::find_if(
        buttons, [this](const QToolButton* each) { return each->isVisibleTo(view_) && each->isEnabled(); });
    if (first != buttons.end())
        (*first)->setFocus();
    else
        scroll_->setFocus(); // for the keys that scroll and close
}

void JobsButton::place() {
    const QRect screen = this->screen()->availableGeometry();
    const int width = fontMetrics().averageCharWidth() * kCharactersAcross, line = fontMetrics().height(),
              edges = 2 * (spacing::kWide + popover_->frameWidth());
    const int rows = std::max(view_->sizeHint().height(), view_->heightForWidth(width - edges));
    const QSize size = QSize(width, std::min(rows + edges + line, line * kLinesDown))
                           .expandedTo(popover_->minimumSizeHint())
                           .boundedTo(screen.size());
    const QPoint above = mapToGlobal(QPoint(0, 0)) - QPoint(0, size.height() + spacing::kTight);
    popover_->setGeometry(std::clamp(above.x(), screen.left(), screen.right() - size.width() + 1),
                          std::max(above.y(), screen.top()), size.width(), size.height());
}

bool JobsButton::isTrainingLocked() const {
    const auto* play = window()->findChild<QAction*>("trainPlay");
    return play && isLocked(*play);
}

void JobsButton::showRows() {
    std::vector<JobRow> rows;
    const bool isLocked = isTrainingLocked();
    bool isRunning = false;
    const std::vector<JobStatus>& jobs = JobBridge::ofProgram().snapshot()->jobs;
    for (const JobStatus& job : jobs) {
        JobRow row = rowOf(job, QString::number(job.number));
        if (job.canPause && job.state == JobState::Running) row.buttons.push_back(JobButton::Pause);
        if (job.canPause && (job.state == JobState::Paused || job.state == JobState::Failed))
            row.buttons.push_back(JobButton::Continue);
        if (job.state != JobState::Finished) row.buttons.push_back(JobButton::Stop);
        if (panelOf(job)) row.buttons.push_back(JobButton::Show);
        row.isLocked = isLocked && job.kind == "training";
        isRunning = isRunning || job.isAtWork();
        rows.push_back(std::move(row));
    }
    for (const FolderJob& job : onDisk_) {
        const JobStatus& status = job.record.status;
        if (std::ranges::find(jobs, status.folder, &JobStatus::folder) != jobs.end()) continue; // listed above
        JobRow row = rowOf(status, keyOf(job));
        if (job.process && status.state == JobState::Running) row.buttons.push_back(JobButton::Pause);
        if (job.canContinue()) row.buttons.push_back(JobButton::Continue);
        if (job.process) row.buttons.push_back(JobButton::Stop);
        row.buttons.push_back(JobButton::Show);
        row.isLocked = isLocked;
        if (job.process) row.detail += tr(" · in another program");
        isRunning = isRunning || (job.process && status.isAtWork());
        rows.push_back(std::move(row));
    }
    view_->setRows(rows);
    const QString& problem = problem_.isEmpty() ? listProblem_ : problem_;
    view_->setRemark(!problem.isEmpty() ? problem : isRunning ? QString() : tr("Nothing is running."));
}

void JobsButton::listFolder() {
    if (listing_.isRunning()) return;
    using Jobs = std::vector<FolderJob>;
    listing_.start<Jobs>(
        "jobs",
        [folder = bench_.runs().folder().toStdString()](const std::atomic<bool>&) {
            Jobs jobs = jobsIn(folder);
            std::erase_if(jobs, [](const FolderJob& job) { return !job.process && !job.canContinue(); });
            std::ranges::stable_sort(jobs, std::ranges::greater(),
                                     [](const FolderJob& job) { return job.record.written; });
            return jobs;
        },
        [this](std::variant<Jobs, Failure> found) {
            const auto* failure = std::get_if<Failure>(&found);
            listProblem_ = failure ? shownText(failure->sentence()) : QString();
            if (!failure) onDisk_ = std::get<Jobs>(std::move(found));
            if (!isOpen()) return;
            showRows();
            place();
        });
}

void JobsButton::act(const QString& key, JobButton button) {
    problem_.clear();
    const auto request = button == JobButton::Pause      ? JobRequest::Pause
                         : button == JobButton::Continue ? JobRequest::Continue
                                                         : JobRequest::Stop;
    const auto& jobs = JobBridge::ofProgram().snapshot()->jobs;
    if (const auto own = std::ranges::find(jobs, key.toULongLong(), &JobStatus::number); own != jobs.end()) {
        if (button == JobButton::Show) return showPlaceOf(*own);
        return JobList::shared().request(own->number, request);
    }
    const auto found = std::ranges::find(onDisk_, key, keyOf);
    if (found == onDisk_.end()) return;
    const JobStatus status = found->record.status;
    if (button == JobButton::Show) {
        if (!listRun(status.folder)) return;
        popover_->hide();
        bench_.showPanel("runs");
    } else if (!found->process) {
        continueRun(status.folder);
    } else if (const auto failure = attempt("jobs", [&] { requestOf(status.folder, request); })) {
        problem_ = shownText(failure->sentence());
        showRows();
    }
}

void JobsButton::showPlaceOf(const JobStatus& job) {
    popover_->hide();
    bench_.showPanel(panelOf(job));
}

bool JobsButton::listRun(const std::filesystem::path& folder) {
    RunListModel& runs = bench_.runs();
    const QString run = QString::fromStdString(folder.string());
    if (runs.rowOf(run) >= 0) return true;
    const auto failure = attempt(folder.string(), [&] { runs.addRecorded(folder); });
    if (!failure) return true;
    problem_ = shownText(failure->sentence());
    showRows();
    return false;
}

void JobsButton::continueRun(const std::filesystem::path& folder) {
    if (!listRun(folder)) return;
    popover_->hide();
    emit runContinued(QString::fromStdString(folder.string()));
}

} // namespace attn
