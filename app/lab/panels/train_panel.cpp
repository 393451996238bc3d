#include "app/lab/panels/train_panel.h"

#include "app/figures/drawing.h"
#include "app/figures/token_label.h"
#include "app/lab/bridge/training_bridge.h"
#include "app/lab/common/control_groups.h"
#include "app/lab/common/icons.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/widgets/engine_text.h"
#include "app/lab/widgets/front_watch.h"
#include "app/lab/widgets/recipe_form.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/input_kind.h"
#include "engine/io/run_folder.h"
#include "engine/training/attention_recipe.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/training_memory.h"
#include "engine/training/training_summary.h"

#include <QCheckBox>
#include <QCoreApplication>
#include <QDoubleSpinBox>
#include <QDragEnterEvent>
#include <QJsonArray>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QToolButton>

#include <algorithm>
#include <iterator>
#include <ranges>

namespace attn {
namespace {

constexpr int kAnimationMs = 120;
constexpr int kMemoryPauseMs = 400;

QString duration(double seconds) {
    return seconds < 90 ? TrainPanel::tr("%1 s").arg(seconds, 0, 'f', 0)
                        : TrainPanel::tr("%1 min").arg(seconds / 60, 0, 'f', 0);
}

QString mib(uint64_t bytes) { return TrainPanel::tr("%1 MiB").arg(static_cast<double>(bytes) / (1 << 20), 0, 'f', 1); }

/// A sentence on a saving: what a step would need with it, or without it.
QString sentenceOn(const TrainingMemory::Alternative& other) {
    switch (other.saving) {
    case MemorySaving::Checkpointing:
        return (other.isUsed ? TrainPanel::tr("Without gradient checkpointing it would need %1.")
                             : TrainPanel::tr("With gradient checkpointing it would need %1."))
            .arg(mib(other.bytes));
    case MemorySaving::Reversible:
        return TrainPanel::tr("If the reversible layers kept their inputs, it would need %1.").arg(mib(other.bytes));
    case MemorySaving::Chunks:
        return TrainPanel::tr("If the feed-forward layers kept all chunks, it would need %1.").arg(mib(other.bytes));
    case MemorySaving::ShortNumbers:
        return (other.isUsed ? TrainPanel::tr("With 32 bits it would need %1.")
                             : TrainPanel::tr("With activations in 16 bits it would need %1."))
            .arg(mib(other.bytes));
    }
    return {};
}

} // namespace

TrainPanel::TrainPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), training_(bench.training().snapshot()) {
    setAcceptDrops(true);
    form_ = new RecipeForm;
    for (QWidget* part : std::initializer_list<QWidget*>{form_->task(), form_}) assignControlGroup(part, "recipe");
    makeColumn(this, spacing::kGap, {form_->task(), makeButtons(), makePace(), form_, room()});
    makeTimeline();
    TrainingBridge& bridge = bench_.training();
    connect(&bridge, &TrainingBridge::changed, this, &TrainPanel::showTraining);
    connect(&bridge, &TrainingBridge::followingChanged, this, &TrainPanel::showTimeline);
    connect(&bridge, &TrainingBridge::shownStepChanged, this, &TrainPanel::showTimeline);
    connect(&bench_.runs(), &RunListModel::activeChanged, this, &TrainPanel::openRun);
    connect(&bench_.runs(), &RunListModel::listed, this, &TrainPanel::restoreRuns);
    connect(form_, &RecipeForm::changed, this, &TrainPanel::updateButtons);
    memoryPause_.setSingleShot(true);
    memoryPause_.setInterval(kMemoryPauseMs);
    connect(&memoryPause_, &QTimer::timeout, this, &TrainPanel::computeMemory);
    connect(&bench_, &Workbench::recipeRequested, this, [this](const Recipe& recipe) {
        bench_.runs().setActive({});
        form_->setRecipe(recipe);
        updateButtons();
    });
    new FrontWatch(this, [this](bool isInFront) {
        if (isInFront && form_->recipe()) bench_.training().session().prepare(*form_->recipe());
        if (isInFront) askMemory();
    });
    animation_.setInterval(kAnimationMs);
    connect(&animation_, &QTimer::timeout, this, [this] {
        if (timeline_->value() >= timeline_->maximum()) return animate_->setChecked(false);
        timeline_->setValue(timeline_->value() + 1);
    });
    listCheckpoints();
    updateButtons();
}

bool TrainPanel::continues() const {
    const QString active = bench_.runs().active();
    const int row = bench_.runs().rowOf(active);
    return row >= 0 && form_->recipe() && *form_->recipe() == bench_.runs().runs()[static_cast<size_t>(row)].recipe;
}

bool TrainPanel::holdViews() {
    const bool isWriting = bench_.training().isWriting();
    bench_.training().holdViews(isWriting);
    return isWriting;
}

void TrainPanel::startRun(const QString& folder, bool plays) {
    starting_ = folder;
    asked_ = form_->recipe();
    bench_.training().session().start(folder.toStdString(), *form_->recipe(), plays);
    updateButtons();
}

void TrainPanel::start(bool plays) {
    TrainingSession& session = bench_.training().session();
    RunListModel& runs = bench_.runs();
    if (continues()) {
        runs.add(runs.active(), *form_->recipe()); // shows its curves
        if (training_->folder != runs.active().toStdString() || training_->state == TrainingSnapshot::State::None)
            startRun(runs.active(), plays);
        else if (plays)
            session.play();
        if (!plays) session.step();
        if (!holdViews()) bench_.training().follow(true);
        return;
    }
    ownRate_->setChecked(false);
    startNew(plays);
    if (!plays) session.step();
    if (opening_->wasShown) // curves: replace the open run, keep runs ticked to compare
        runs.setShown(runs.rowOf(opening_->before), false);
}

void TrainPanel::startNew(bool plays) {
    RunListModel& runs = bench_.runs();
    const QString folder = runs.newFolder(QString::fromStdString(form_->recipe()->task)), before = runs.active();
    const int row = runs.rowOf(before);
    opening_ = {.folder = folder,
                .before = before,
                .wasShown = row >= 0 && runs.runs()[static_cast<size_t>(row)].isShown,
                .failureCount = training_->failureCount};
    runs.add(folder, *form_->recipe());
    runs.setActive(folder);
    holdViews();
    startRun(folder, plays);
}

void TrainPanel::takeBack() {
    const Opening gone = *std::exchange(opening_, std::nullopt);
    RunListModel& runs = bench_.runs();
    const Recipe typed = form_->draft();
    runs.withdraw(gone.folder);
    const int row = runs.rowOf(gone.before);
    if (row >= 0 && gone.wasShown) runs.setShown(row, true);
    if (runs.active() != gone.folder) return;
    runs.setActive(row >= 0 ? gone.before : QString());
    form_->setRecipe(typed);
}

void TrainPanel::dragEnterEvent(QDragEnterEvent* event) {
    const auto urls = event->mimeData()->urls();
    if (urls.size() == 1 && urls.front().isLocalFile() && form_->takes(urls.front().toLocalFile()))
        event->acceptProposedAction();
    else
        event->ignore();
}

void TrainPanel::dropEvent(QDropEvent* event) {
    form_->take(event->mimeData()->urls().front().toLocalFile());
    event->acceptProposedAction();
}

const std::optional<Recipe>& TrainPanel::recipe() const { return form_->recipe(); }

/// The loss at the step of the snapshot and the newest value of the task's metric until then, as a line of text; empty
/// before the first step.
QString TrainPanel::newestMetrics() const {
    const int row = bench_.runs().rowOf(bench_.runs().active());
    if (row < 0) return {};
    const RunListModel::Run& run = bench_.runs().runs()[static_cast<size_t>(row)];
    const auto after = std::ranges::upper_bound(run.points, training_->step, {}, &MetricPoint::step);
    if (after == run.points.begin()) return {};
    QString text = '\n' + tr("loss %1").arg(formatMeasured((*std::prev(after))[metric_names::kLoss], 3));
    if (const double skipped = std::prev(after)->find(metric_names::kSkippedSteps).value_or(0); skipped > 0)
        text += tr(" · steps left out: %1").arg(skipped);
    const auto measured =
        std::find_if(std::make_reverse_iterator(after), run.points.rend(),
                     [](const MetricPoint& point) { return point.find(metric_names::kMetric).has_value(); });
    if (measured == run.points.rend()) return text;
    const Task& task = taskNamed(run.recipe.task);
    const bool isShare = task.measuresShare();
    const double metric = (*measured)[metric_names::kMetric];
    text +=
        tr(" · %1 %2").arg(fromEngine(task.metricName), isShare ? formatPercent(metric) : formatMeasured(metric, 3));
    if (const auto hidden = measured->find(metric_names::kHiddenTokens))
        text += tr(" · %1 %2").arg(fromEngine(metricTitle(metric_names::kHiddenTokens)), formatPercent(*hidden));
    return text;
}

bool TrainPanel::isTraining() const { return training_ && training_->state == TrainingSnapshot::State::Training; }

bool TrainPanel::isOfTrainer() const { return training_->folder == bench_.runs().active().toStdString(); }

bool TrainPanel::isStarting() const {
    return !starting_.isEmpty() || training_->state == TrainingSnapshot::State::Preparing;
}

void TrainPanel::playOrPause() {
    if (training_->state == TrainingSnapshot::State::Preparing) return bench_.training().session().close();
    if (isTraining() && continues() && isOfTrainer()) return bench_.training().session().pause();
    if (form_->recipe()) start(true);
}

void TrainPanel::continueRun(const QString& folder) {
    bench_.showPanel("train");
    const int row = bench_.runs().rowOf(folder);
    if (row < 0) return; // it has been deleted or renamed
    bench_.runs().setActive(folder);
    const RunListModel::Run& run = bench_.runs().runs()[static_cast<size_t>(row)];
    const bool isDone = !run.points.empty() && run.points.back().step >= run.recipe.schedule.steps;
    const bool isUnderWay = starting_ == folder || (isOfTrainer() && (isTraining() || isStarting()));
    if (!isDone && !isUnderWay && form_->recipe()) start(true);
}

void TrainPanel::play() {
    if (!isTraining() && !isStarting()) playOrPause();
}

void TrainPanel::step() {
    if (form_->recipe()) start(false);
}

void TrainPanel::reset() {
    if (form_->recipe()) startNew(false);
}

void TrainPanel::openRun(const QString& folder) {
    const int row = bench_.runs().rowOf(folder);
    if (row >= 0) form_->setRecipe(bench_.runs().runs()[static_cast<size_t>(row)].recipe);
    listCheckpoints();
    updateButtons();
}

QJsonObject TrainPanel::saveView() const {
    QJsonArray shown;
    for (const RunListModel::Run& run : bench_.runs().runs())
        if (run.isShown) shown.append(run.folder);
    return {{"recipe", form_->save()}, {"run", bench_.runs().active()}, {"shown", shown}};
}

void TrainPanel::restoreView(const QJsonObject& view) {
    if (!view.contains("recipe") || isTraining() || isStarting()) return;
    restored_ = view;
    restoreRuns();
}

void TrainPanel::restoreRuns() {
    if (restored_.isEmpty() || isTraining() || isStarting()) return;
    RunListModel& runs = bench_.runs();
    const QJsonArray shown = restored_["shown"].toArray();
    for (int row = 0; row < runs.rowCount(); ++row)
        runs.setShown(row, shown.contains(runs.runs()[static_cast<size_t>(row)].folder));
    const QString run = restored_["run"].toString();
    runs.setActive(runs.rowOf(run) >= 0 ? run : QString());
    form_->restore(restored_["recipe"].toString());
    if (!runs.isListing()) restored_ = {};
    updateButtons();
}

void TrainPanel::showTraining(const std::shared_ptr<const TrainingSnapshot>& snapshot) {
    training_ = snapshot;
    const QString active = bench_.runs().active();
    if (snapshot->folder == active.toStdString() && snapshot->recipe && continues() &&
        *form_->recipe() != *snapshot->recipe) { // a model from which a run starts has filled in its architecture
        bench_.runs().add(active, *snapshot->recipe);
        form_->setRecipe(*snapshot->recipe);
    }
    if (snapshot->folder == starting_.toStdString() || snapshot->failure) starting_.clear();
    if (opening_ && snapshot->refused == opening_->folder.toStdString() &&
        snapshot->failureCount > opening_->failureCount)
        takeBack();
    else if (opening_ && snapshot->folder == opening_->folder.toStdString() && snapshot->weights)
        opening_.reset();
    const bool isListed = std::exchange(checkpointCount_, snapshot->checkpointCount) == snapshot->checkpointCount;
    isListed ? showTimeline() : listCheckpoints();
    updateButtons();
}

void TrainPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const std::string path = snapshot->path();
    if (std::exchange(openPath_, path) != path) updateButtons();
}

std::vector<Panel::Place> TrainPanel::places() {
    const auto translated = [](std::string_view text) {
        return QCoreApplication::translate("attn::Task", std::string(text).c_str());
    };
    std::vector<Place> places;
    for (int index = 0; const Task* task : taskCatalogue())
        places.push_back({tr("Train on: %1").arg(translated(task->title)), tr("Task"),
                          [this, index = index++] {
                              bench_.showPanel("train");
                              form_->chooseTask(index);
                          },
                          translated(task->summary)});
    return places;
}

void TrainPanel::trainFromHere() {
    const char* task = bench_.input().task(*bench_.snapshot()->model);
    bench_.requestRecipe(withMoments(furtherRecipe(bench_.snapshot()->path(), taskNamed(task))));
    bench_.showPanel("train");
}

void TrainPanel::updateButtons() {
    using State = TrainingSnapshot::State;
    const bool isKnown = continues();
    const bool isHere = isKnown && isOfTrainer() && training_->state != State::None;
    const bool isTraining = isHere && training_->state == State::Training;
    const bool isBusy = training_->state == State::Preparing;
    const int row = bench_.runs().rowOf(bench_.runs().active());
    const bool wasDone =
        isKnown && !isHere && !bench_.runs().runs()[static_cast<size_t>(row)].points.empty() &&
        bench_.runs().runs()[static_cast<size_t>(row)].points.back().step >= form_->recipe()->schedule.steps;
    const bool isDone = wasDone || (isHere && training_->state == State::Finished);
    // Another model is open, for example after Undo, and the views do not follow the run.
    const bool isElsewhere = isHere && !isTraining && !bench_.training().isFollowing() &&
                             !(openPath_ + '/').starts_with(training_->folder + '/');
    const bool isPaused = isHere
                              ? training_->state == State::Paused && training_->step > 0
                              : isKnown && !wasDone && !bench_.runs().runs()[static_cast<size_t>(row)].points.empty();
    play_->setText(isBusy ? tr("Stop") : isTraining ? tr("Pause") : isPaused ? tr("Continue") : tr("Train"));
    play_->setIcon(themedIcon(isTraining || isBusy ? "pause" : "play", QPalette::HighlightedText));
    play_->setToolTip(isBusy       ? tr("Stop preparing this training run (F6)")
                      : isTraining ? tr("Pause training; the parameters are kept (F6)")
                      : isPaused   ? tr("Continue this training run (F6)")
                                   : tr("Train a model with the current recipe (F6)"));
    const bool isReadable = form_->unreadable().isEmpty();
    const bool mayTrain = form_->recipe() && (isHere || isReadable) && !isDone; // a run that is here has read its data
    play_->setEnabled(isBusy || mayTrain);
    step_->setEnabled(mayTrain && !isBusy && !isTraining);
    reset_->setEnabled(form_->recipe() && isReadable && isKnown && !isBusy);
    const int64_t steps = isHere && training_->recipe ? training_->recipe->schedule.steps : 0;
    progress_->setRange(0, isBusy ? 0 : std::max(1, static_cast<int>(steps)));
    progress_->setValue(isHere ? static_cast<int>(training_->step) : 0);
    QStringList details;
    QString text = form_->recipe()              ? tr("Press Train to train a model on this task.")
                   : form_->problem().isEmpty() ? tr("Correct the attention below, then press Train.")
                                                : form_->problem();
    if (isBusy) {
        text = tr("Preparing…");
    } else if (!training_->refused.empty() && training_->failure && starting_.isEmpty() && form_->recipe() == asked_) {
        text = tr("This training run cannot begin: %1").arg(shownText(training_->failure->sentence()));
    } else if (isElsewhere && steps > 0) {
        text = tr("Another model is open. The run “%1” stands at step %2 of %3.")
                   .arg(bench_.runs().runs()[static_cast<size_t>(row)].name, QString::number(training_->step),
                        QString::number(steps));
    } else if (isHere && steps > 0) {
        text = (isPaused ? tr("Paused at step %1 of %2") : tr("Step %1 of %2")).arg(training_->step).arg(steps);
        if (const Schedule& schedule = training_->recipe->schedule; schedule.stages > 1)
            text += tr(" · stage %1 of %2")
                        .arg(schedule.stageOf(std::max<int64_t>(training_->step - 1, 0)) + 1)
                        .arg(schedule.stages);
        if (training_->secondsPerStep > 0) {
            details << tr("%1 ms per step").arg(training_->secondsPerStep * 1000, 0, 'f', 0);
            if (isTraining && training_->isMeasuring)
                text += tr(" · testing the model");
            else if (isTraining)
                text += tr(" · %1 left")
                            .arg(duration(training_->secondsPerStep * static_cast<double>(steps - training_->step)));
        }
        if (isDone) text += tr(" · finished");
        text += newestMetrics();
        if (training_->parameterCount > 0)
            details << (training_->recipe->start.model.empty()
                            ? tr("%1 parameters").arg(grouped(training_->parameterCount))
                            : tr("%1 trained parameters (%2 % of the model's %3)")
                                  .arg(grouped(training_->parameterCount))
                                  .arg(100 * static_cast<double>(training_->parameterCount) /
                                           static_cast<double>(training_->modelParameterCount),
                                       0, 'f', 2)
                                  .arg(grouped(training_->modelParameterCount)));
        if (!training_->startSentence.empty()) details << QString::fromStdString(training_->startSentence);
        if (training_->stepBytes > 0)
            details << tr("%1 MiB of activations and gradients per step")
                           .arg(static_cast<double>(training_->stepBytes) / (1 << 20), 0, 'f', 1);
        if (training_->warning) text += QStringLiteral("\n⚠ ") + QString::fromStdString(training_->warning->sentence());
    } else if (isKnown && starting_ == bench_.runs().active()) {
        text = tr("Starting…");
    } else if (wasDone) {
        text = tr("This run is finished.");
    } else if (form_->recipe() && !isReadable) {
        text = form_->unreadable();
    } else if (isKnown) {
        text = isPaused ? tr("Press Continue to train this run further, from its last checkpoint.")
                        : tr("Press Train to train this run.");
    } else if (form_->recipe() && !bench_.runs().active().isEmpty()) {
        text = tr("You have changed the settings of the open run. Press Train to start a new run with them.");
    }
    state_->setText(text);
    state_->setToolTip(details.join(QStringLiteral(" · "))); // the text must fit into its two lines
    if (!ownRate_->isChecked() && form_->recipe()) {
        const QSignalBlocker quiet(rate_);
        // Three digits can be read while they change.
        rate_->setValue(formatShort(form_->recipe()->schedule.at(isHere ? training_->step : 0), 3).toDouble());
    }
    const auto* task = form_->recipe() ? &taskNamed(form_->recipe()->task) : nullptr;
    QString hint = task ? QCoreApplication::translate("attn::Task", std::string(task->hint).c_str()) : QString();
    if (task && !task->citation.empty())
        hint += '\n' + tr("Source: %1").arg(QString::fromStdString(std::string(task->citation)));
    hint_->setText(hint);
    askMemory();
}

void TrainPanel::askMemory() {
    if (isVisible() && form_->recipe() != memoryAsked_) memoryPause_.start();
}

void TrainPanel::computeMemory() {
    memoryAsked_ = form_->recipe();
    if (!memoryAsked_) {
        memory_->setText({});
        return memoryTask_.cancel();
    }
    memoryTask_.start<TrainingMemory>(
        "training",
        [recipe = *memoryAsked_](const std::atomic<bool>&) -> std::variant<TrainingMemory, Failure> {
            return trainingMemory(recipe);
        },
        [this](const std::variant<TrainingMemory, Failure>& found) { // training itself says what is wrong
            const auto* memory = std::get_if<TrainingMemory>(&found);
            if (!memory) return memory_->setText({});
            QStringList sentences{tr("A step needs %1 for activations and gradients.").arg(mib(memory->bytes))};
            for (const auto& other : memory->alternatives) sentences << sentenceOn(other);
            memory_->setText(sentences.join(' '));
        });
}

} // namespace attn
