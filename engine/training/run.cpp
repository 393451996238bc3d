#include "engine/training/run.h"

#include "engine/core/attempt.h"
#include "engine/core/error.h"
#include "engine/gpu/device_errors.h"
#include "engine/system/folder.h"
#include "engine/training/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace attn {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kExamples = 1024,
                  kExamplesInBetween = 256; ///< examples in an evaluation of an endless split, at the end and before
constexpr int64_t kRatioEvery = 10;
constexpr int kPublishedCopies = 3; ///< of the parameters that must have room; else they go through the host

} // namespace

int64_t exampleCount(const Trainer& trainer, Split split) {
    return static_cast<int64_t>(trainer.objective().rowCount(split).value_or(static_cast<uint64_t>(kExamples)));
}

TrainingRun::TrainingRun(const fs::path& folder, const Recipe& recipe, const DeviceChoice& choice, bool resumes)
    : folder_(folder), trainer_(recipe, choice), data_(dataOf(trainer_)), ratios_(trainer_) {
    createFolder(folder);
    lock_.emplace(folder);
    recoverCheckpoints(folder);
    const bool hasOne = hasCheckpoint(folder);
    if (!resumes && hasOne)
        throw Error({.what = "already contains a training run",
                     .where = folder.string(),
                     .hint = "add --resume to continue it, or choose another folder"});
    if (resumes && !hasOne)
        throw Error({.what = "contains no checkpoint", .where = folder.string(), .hint = "train without --resume"});
    if (resumes) requireKept(folder, data_);
    startRun(folder, trainer_.recipe());
    if (resumes) goBack(); // first: data that the checkpoint cannot learn from must not count as that of the run
    keepHashes(folder, data_);
    if (!resumes) {
        save();
        metrics_ = std::make_unique<MetricsFile>(folder, std::vector<MetricPoint>{});
    }
    model_ = trainer_.objective().describe();
    std::optional<JobRecord> before; // a program may have been killed between the last step and the model
    (void)attempt({}, [&] { before = readJob(folder); }); // a damaged one is written again
    const bool wasFinished = isFinished() && (!before || before->status.state == JobState::Finished);
    job_.emplace(folder, "training", "Train " + folder.filename().string());
    job_->report(progress());
    if (wasFinished) job_->setState(JobState::Finished);
}

TrainingRun::~TrainingRun() {
    if (job_ && job_->state() != JobState::Finished && job_->state() != JobState::Failed)
        job_->setState(JobState::Stopped);
}

Progress TrainingRun::progress() const {
    Progress progress = ofSteps(trainer_.stepsDone(), trainer_.recipe().schedule.steps);
    progress.secondsLeft = secondsLeft_;
    return progress;
}

/// Continues from the last checkpoint. Drops the metrics after it, because those steps run again.
void TrainingRun::goBack() {
    const std::vector<fs::path> all = checkpoints(folder_);
    if (all.empty())
        throw Error(
            {.what = "contains no checkpoint", .where = folder_.string(), .hint = "start another training run"});
    resume(trainer_, all.back());
    saved_ = trainer_.stepsDone();
    RecordedMetrics kept = readMetrics(folder_);
    if (kept.damage) damage_ = std::move(kept.damage); // the file that follows has none of it
    std::erase_if(kept.points, [&](const MetricPoint& point) { return point.step > trainer_.stepsDone(); });
    metrics_ = std::make_unique<MetricsFile>(folder_, kept.points);
    isLost_ = false;
}

/// Does work that ends if a loss or the weights are not numbers. @throws Error with the step to which the run goes
/// back. Its weights are numbers, but nobody knows whether they can still be trained: so the step before is named too.
void TrainingRun::orLose(const std::function<void()>& work) {
    try {
        work();
    } catch (const NotFinite& error) {
        isLost_ = true;
        const std::vector<fs::path> all = checkpoints(folder_);
        std::string hint = error.hint();
        if (!all.empty())
            hint += fmt::format("; the run goes back to step {}, its newest checkpoint whose weights are numbers",
                                *checkpointStep(all.back()));
        if (all.size() > 1)
            hint +=
                fmt::format("; if the loss is no number again, start another run from an older one, such as step {}",
                            *checkpointStep(all[all.size() - 2]));
        throw Error({.what = error.message(), .where = error.where(), .hint = std::move(hint)});
    }
}

MetricPoint TrainingRun::advance() {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    job_->setState(JobState::Running);
    try {
        if (isLost_) goBack();
        MetricPoint point;
        orLose([&] { point = makeStep(); });
        workSeconds_ += std::chrono::duration<double>(Clock::now() - start).count();
        secondsLeft_ = remaining_.after(progress().fraction, workSeconds_);
        job_->report(progress());
        return point;
    } catch (const Error& error) {
        job_->fail({error.message(), error.where(), error.hint()});
        throw;
    }
}

MetricPoint TrainingRun::makeStep() {
    const Recipe& recipe = trainer_.recipe();
    const bool measuresRatios = (trainer_.stepsDone() + 1) % kRatioEvery == 0;
    if (measuresRatios) ratios_.remember();
    const Trainer::StepReport report = trainer_.step();
    if (!std::isfinite(report.loss)) {
        discardCheckpoint(folder_, report.step - 1); // its weights, though numbers, give this loss
        throw trainer_.diverged(fmt::format("the loss of step {} is not a number", report.step));
    }
    MetricPoint point{.step = report.step,
                      .values = {{metric_names::kLoss, report.loss},
                                 {metric_names::kGradientNorm, report.gradientNorm},
                                 {metric_names::kLearningRate, report.learningRate}}};
    if (const auto scale = trainer_.lossScale()) {
        point.values[metric_names::kLossScale] = scale->scale;
        point.values[metric_names::kSkippedSteps] = static_cast<double>(scale->skipped);
    }
    if (measuresRatios)
        for (size_t part = 0; const double ratio : ratios_.measure())
            point.values[fmt::format("{}{}", metric_names::kUpdateRatios, part++)] = ratio;
    if (report.step % recipe.evaluateEvery == 0 || isFinished()) try {
            unmeasured_.reset();
            const Evaluation evaluation = trainer_.evaluate(Split::Validation, kExamplesInBetween);
            point.values[metric_names::kValidationLoss] = evaluation.loss;
            point.values[metric_names::kMetric] = evaluation.metric;
            point.values.insert(evaluation.shares.begin(), evaluation.shares.end());
            for (const auto& [name, matches] : evaluation.subtasks)
                point.values[metric_names::kSubtasks + name] = matches.share();
        } catch (const gpu::OutOfMemory& error) { // the steps fit, and can continue
            unmeasured_ = Failure{error.message(), error.where(), error.hint()};
        } catch (const NotFinite&) {
            throw trainer_.diverged(
                fmt::format("after step {}, the loss of the validation examples is not a number", report.step));
        }
    if (metrics_->isGone()) restoreFolder();
    metrics_->append(point);
    if (report.step % recipe.checkpointEvery == 0 || isFinished()) save();
    return point;
}

void TrainingRun::restoreFolder() {
    createFolder(folder_);
    lock_.reset();
    lock_.emplace(folder_);
    startRun(folder_, trainer_.recipe());
    keepHashes(folder_, data_);
    metrics_->restore();
    saved_ = -1;
    save(); // the earlier checkpoints are lost
    restored_ = true;
}

std::optional<Failure> TrainingRun::problem() const {
    if (restored_)
        return Failure{.what = "the folder was removed or moved while the model trained, and is written again",
                       .where = folder_.string(),
                       .hint = "its earlier checkpoints are not in it"};
    for (const auto* problem : {&metrics_->problem(), &unmeasured_})
        if (*problem) return *problem;
    return damage_;
}

void TrainingRun::save() {
    if (isLost_ || saved_ == trainer_.stepsDone()) return;
    if (metrics_) metrics_->sync(); // a checkpoint has the metrics of its steps, also after a power failure
    orLose([this] { saveCheckpoint(folder_, trainer_); });
    saved_ = trainer_.stepsDone();
}

void TrainingRun::finish() {
    if (metrics_->isGone()) restoreFolder();
    save(); // if it failed before
    writeModel(folder_, trainer_);
    job_->setState(JobState::Finished);
}

std::shared_ptr<const WeightSet> weightsOf(const Trainer& trainer, std::shared_ptr<const WeightSet::Model> model) {
    auto set = std::make_shared<WeightSet>(WeightSet{.model = std::move(model), .values = {}});
    if (trainer.hasRoomFor(kPublishedCopies)) {
        set->stored = trainer.copyOfParameters();
        return set;
    }
    for (const Trainer::Named& parameter : trainer.parameters())
        set->values[parameter.name] = trainer.read(parameter.name);
    return set;
}

GivenText exampleInput(const Trainer& trainer) {
    if (!sequencesOf(trainer)) return {};
    const Task& task = trainer.task();
    Example example = sequencesOf(trainer)->instance().example(Split::Validation, 0);
    if (task.readout != TextReadout::NextToken)
        return {.tokens = std::move(example.prompt), .parents = std::move(example.parents)};
    if (!example.answer.empty()) example.answer.pop_back();
    if (!example.source.empty()) return {.tokens = std::move(example.source), .target = std::move(example.answer)};
    if (task.hasPrefix) return {.tokens = std::move(example.prompt), .target = std::move(example.answer)};
    example.prompt.insert(example.prompt.end(), example.answer.begin(), example.answer.end());
    return {.tokens = std::move(example.prompt)};
}

} // namespace attn
