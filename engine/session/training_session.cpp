#include "engine/session/training_session.h"

#include "engine/core/attempt.h"
#include "engine/core/error.h"
#include "engine/inference/language_model.h"
#include "engine/jobs/job_file.h"
#include "engine/jobs/job_list.h"
#include "engine/jobs/publisher.h"
#include "engine/jobs/thread_priority.h"
#include "engine/models/memory_source.h"
#include "engine/session/training_answers.h"
#include "engine/training/answers.h"
#include "engine/training/checkpoint.h"
#include "engine/training/recipe.h"
#include "engine/training/run.h"
#include "engine/training/starting_loss.h"
#include "engine/training/trainer.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace attn {

class TrainingSession::Worker {
public:
    explicit Worker(DeviceChoice choice)
        : choice_(std::move(choice)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

    /// Changes the request and wakes the thread.
    template <class Change> void want(const Change& change) {
        {
            const std::lock_guard lock(mutex_);
            change(wanted_);
            isIdle_ = false;
        }
        changed_.notify_all();
    }

    Publisher<TrainingSnapshot>& snapshots() { return snapshots_; }
    std::vector<MetricPoint> takePoints() {
        const std::lock_guard lock(mutex_);
        return std::exchange(points_, {});
    }
    bool waitIdle(double timeoutSeconds) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::duration<double>(timeoutSeconds), [&] { return isIdle_; });
    }

    /// What a person or another program asks of the run.
    void obey(JobRequest request) {
        want([&](Wanted& wanted) { obey(wanted, request); });
    }

    struct Start {
        std::filesystem::path folder;
        Recipe recipe;
    };
    struct Preparation {
        Recipe recipe;
        bool isFirstUse;
    };
    struct Wanted {
        std::optional<Start> start;
        std::optional<Preparation> prepares;
        bool plays = false, closes = false, weights = false;
        int steps = 0; ///< single steps to run while not playing
        std::optional<double> rate;
        double stepsPerSecond = 0;
    };

private:
    using Clock = std::chrono::steady_clock;
    using State = TrainingSnapshot::State;
    static constexpr std::chrono::milliseconds kInterval{33};    ///< between snapshots
    static constexpr std::chrono::milliseconds kAskedEvery{250}; ///< looks for requests of other programs while paused
    static constexpr double kTrainingPart = 0.8;                 ///< of the work of prepare()
    static constexpr int kThumbnail = 64;                        ///< pixels of a drawing that nobody sees
    static constexpr const char* kSmaller = "choose a smaller model or batch";

    void run(const std::stop_token& stop) {
        lowerThreadPriority();
        while (!stop.stop_requested())
            if (auto failure = attempt(
                    "training", [&] { work(stop); }, kSmaller))
                fail(std::move(*failure));
        (void)attempt("training", [&] { // the last good checkpoint still exists
            if (run_) run_->save();
        });
    }

    void fail(Failure failure) {
        {
            const std::lock_guard lock(mutex_);
            wanted_.plays = false;
            wanted_.steps = 0;
        }
        next_.failure = std::move(failure);
        ++next_.failureCount;
        next_.isMeasuring = false;
        next_.state = run_ ? State::Paused : State::None;
        if (run_) ++next_.checkpointCount; // one may have gone
        if (run_ && run_->job().state() != JobState::Finished) run_->job().fail(*next_.failure);
        publish();
        if (listed_) listed_->fail(*next_.failure);
        if (!run_) listed_.reset();
    }

    /// Whether the run has steps before it, or what comes after the last one.
    bool isUnderWay() const { return run_ && (!run_->isFinished() || run_->job().state() != JobState::Finished); }

    static void obey(Wanted& wanted, JobRequest request) {
        wanted.steps = 0;
        wanted.plays = request == JobRequest::Continue;
        wanted.closes = wanted.closes || request == JobRequest::Stop;
    }

    /// @pre the mutex is locked
    void obeyOthers() {
        if (!run_) return;
        if (const auto request = takeRequest(run_->folder())) obey(wanted_, *request);
    }

    /// Waits for work and does one piece of it.
    void work(const std::stop_token& stop) {
        std::optional<Start> start;
        std::optional<Preparation> prepares;
        bool closes = false, steps = false, weights = false;
        std::optional<double> rate;
        double pace = 0;
        {
            std::unique_lock lock(mutex_);
            const auto mayStep = [&] { return isUnderWay() && (wanted_.steps > 0 || wanted_.plays); };
            const auto hasWork = [&] {
                return wanted_.start || wanted_.prepares || wanted_.closes || (wanted_.weights && hasNewWeights()) ||
                       mayStep() || (isUnderWay() && next_.state == State::Training);
            };
            const auto isAsked = [&] { // a wish may be no work, such as that for parameters already given
                if (hasWork()) return true;
                isIdle_ = true;
                changed_.notify_all();
                return false;
            };
            obeyOthers();
            if (!run_) changed_.wait(lock, stop, isAsked);
            while (run_ && !changed_.wait_for(lock, stop, kAskedEvery, isAsked) && !stop.stop_requested()) obeyOthers();
            if (stop.stop_requested()) return;
            isIdle_ = false;
            if (wanted_.plays && wanted_.steps == 0 && Clock::now() < due_ && !wanted_.start && !wanted_.closes) {
                changed_.wait_until(lock, stop, due_, [&] {
                    return !wanted_.plays || wanted_.steps > 0 || wanted_.start || wanted_.closes;
                });
                if (stop.stop_requested()) return;
            }
            start = std::exchange(wanted_.start, std::nullopt);
            prepares = std::exchange(wanted_.prepares, std::nullopt);
            closes = std::exchange(wanted_.closes, false);
            steps = !start && !closes && mayStep();
            if (steps && wanted_.steps > 0) --wanted_.steps;
            weights = (steps || hasNewWeights()) && std::exchange(wanted_.weights, false);
            rate = wanted_.rate;
            pace = wanted_.stepsPerSecond;
            if (start) points_.clear();
        }
        TrainingSnapshot before = start ? next_ : TrainingSnapshot();
        if (start || closes) closeRun();
        if (start) return begin(*start, std::move(before), stop);
        if (!run_) {
            if (closes) publish();
            if (prepares && !prepared_) prepare(*prepares, stop);
            return;
        }
        if (prepares && !weights && !steps) return;
        if (weights && !steps) {
            show(false, true);
            return publish();
        }
        if (steps) return advance(rate, pace, weights);
        next_.state = State::Paused;
        publish();
    }

    struct Stopped : std::exception {}; ///< ends the work on a text

    /// Saves and closes the run. One that cannot be saved closes too, and says why.
    void closeRun() {
        std::optional<Failure> failure;
        if (run_)
            failure = attempt(
                "training", [this] { run_->save(); }, kSmaller);
        if (failure) run_->job().fail(*failure);
        run_.reset();
        listed_.reset();
        answersProblem_.reset();
        weightsProblem_.reset();
        timedSteps_ = 0;
        next_ = {.failure = failure, .failureCount = next_.failureCount + (failure ? 1 : 0)};
    }

    void prepare(const Preparation& asked, const std::stop_token& stop) {
        bool isAnnounced = asked.isFirstUse;
        std::atomic<bool> isStopped = false;
        ListedJob listed(JobList::shared(),
                         {.kind = "training", .title = "Prepare the engine for training", .state = JobState::Running},
                         [&](JobRequest request) { isStopped = isStopped || request == JobRequest::Stop; });
        const auto mayContinue = [&](double share) {
            listed.report({.fraction = share});
            if (isAnnounced && Clock::now() - published_ >= kInterval) {
                next_.preparation = share;
                publish();
            }
            const std::lock_guard lock(mutex_);
            return !stop.stop_requested() && !wanted_.start && !isStopped;
        };
        (void)attempt("training", [&] {          // the run itself will say why
            prepared_ = Device::shared(choice_); // keeps the kernels
            isAnnounced = isAnnounced || prepared_->isFirstUse();
            if (!mayContinue(0)) return;
            Recipe recipe = asked.recipe;
            recipe.settings.data.stopPoint.throwIfStopped = [&] {
                if (!mayContinue(0)) throw Stopped();
            };
            Trainer trainer(recipe, choice_, {.cutsFinely = true});
            const auto weights = weightsOf(trainer, trainer.objective().describe());
            if (trainer.warmUp([&](double share) { return mayContinue(kTrainingPart * share); }) &&
                prepareMeasures(trainer, mayContinue) && sequencesOf(trainer))
                prepareViews(weights, exampleInput(trainer), [&] { return !mayContinue(kTrainingPart); });
            prepared_->saveKernels();
        });
        if (std::exchange(next_.preparation, -1) != -1) publish();
    }

    /// Measures what a run measures between its steps. @param mayContinue as for Trainer::warmUp()
    static bool prepareMeasures(Trainer& trainer, const std::function<bool(double)>& mayContinue) {
        UpdateRatios ratios(trainer);
        ratios.remember();
        ratios.measure();
        if (!mayContinue(kTrainingPart)) return false;
        if (sequencesOf(trainer)) answersOf(trainer, Split::Validation, 0, 1);
        return mayContinue(kTrainingPart);
    }

    /// Draws what the views show of a model that trains.
    void prepareViews(std::shared_ptr<const WeightSet> weights, const GivenText& example,
                      const std::function<bool()>& isEnded) {
        LanguageModel model(makeMemorySource(std::move(weights)), {.device = choice_});
        const bool hasSource = model.info().readsSource;
        if (hasSource) model.setSides({.source = example.tokens});
        if (model.feed(hasSource ? example.target : example.tokens, isEnded)) model.patterns().grid(kThumbnail);
    }

    /// @param before what the views show, and keep if the run cannot be opened
    void begin(const Start& start, TrainingSnapshot before, const std::stop_token& stop) {
        next_.state = State::Preparing;
        next_.folder = start.folder.string();
        next_.recipe = std::make_shared<const Recipe>(start.recipe);
        listed_ = std::make_unique<ListedJob>(JobList::shared(),
                                              JobStatus{.kind = "training",
                                                        .title = "Train " + start.folder.filename().string(),
                                                        .folder = start.folder,
                                                        .canPause = true},
                                              [this](JobRequest request) { obey(request); });
        publish();
        Recipe recipe = start.recipe;
        recipe.settings.data.stopPoint.throwIfStopped = [&] {
            const std::lock_guard lock(mutex_);
            if (stop.stop_requested() || wanted_.start || wanted_.closes) throw Stopped();
        };
        try {
            run_ = std::make_unique<TrainingRun>(start.folder, recipe, choice_, hasCheckpoint(start.folder));
        } catch (const Stopped&) {
            listed_.reset();
            return; // what was asked for instead comes next
        } catch (...) {
            before.failureCount = next_.failureCount;
            before.refused = start.folder.string();
            next_ = std::move(before);
            throw;
        }
        recipe = run_->trainer().recipe();
        recipe.settings.data.stopPoint = {};
        next_.recipe = std::make_shared<const Recipe>(std::move(recipe));
        next_.device = run_->trainer().device().name();
        next_.parameterCount = run_->trainer().parameterCount();
        next_.modelParameterCount = run_->trainer().modelParameterCount();
        next_.stepBytes = run_->trainer().arenaBytes();
        next_.example = exampleInput(run_->trainer());
        next_.step = run_->trainer().stepsDone();
        if (run_->isFinished() && isUnderWay()) run_->finish();
        if (auto failure = attempt(
                "training", [&] { next_.startSentence = startSentence(run_->trainer(), choice_); }, kSmaller))
            next_.startSentence = failure->sentence();
        {
            const std::lock_guard lock(mutex_);
            next_.state = run_->isFinished() ? State::Finished : wanted_.plays ? State::Training : State::Paused;
        }
        ++next_.checkpointCount;
        show(true, true);
        publish();
    }

    void advance(std::optional<double> rate, double pace, bool weights) {
        const Clock::time_point start = Clock::now();
        const bool measures = !run_->isFinished() && makeStep(rate); // else only what comes after the last step failed
        const bool isEnd = run_->isFinished();
        if (isEnd) run_->finish();
        next_.failure.reset();
        if (measures || isEnd) ++next_.checkpointCount;
        show(measures || isEnd, weights || isEnd);
        due_ = pace > 0 ? std::max(Clock::now(), start + std::chrono::duration_cast<Clock::duration>(
                                                             std::chrono::duration<double>(1 / pace)))
                        : Clock::now();
        bool mayContinue = false;
        {
            const std::lock_guard lock(mutex_);
            mayContinue = wanted_.plays || wanted_.steps > 0;
            if (isEnd) wanted_.plays = false;
        }
        next_.state = isEnd ? State::Finished : mayContinue ? State::Training : State::Paused;
        if (mayContinue && next_.state == State::Training && !weights && Clock::now() - published_ < kInterval) return;
        publish();
    }

    /// @return whether it measured the model or wrote a checkpoint
    bool makeStep(std::optional<double> rate) {
        const Clock::time_point start = Clock::now();
        run_->trainer().setLearningRate(rate);
        const Recipe& recipe = run_->trainer().recipe();
        const int64_t coming = run_->trainer().stepsDone() + 1;
        next_.isMeasuring = coming % recipe.evaluateEvery == 0 || coming == recipe.schedule.steps;
        if (next_.isMeasuring) publish();
        const MetricPoint point = run_->advance();
        next_.isMeasuring = false;
        next_.step = point.step;
        {
            const std::lock_guard lock(mutex_);
            std::erase_if(points_, [&](const MetricPoint& each) { return each.step >= point.step; }); // it went back
            points_.push_back(point);
        }
        const bool isMeasured = point.find(metric_names::kValidationLoss).has_value();
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        // The first step builds kernels, and some steps measure: their time is not typical.
        if (++timedSteps_ > 1 && !isMeasured)
            next_.secondsPerStep = next_.secondsPerStep == 0 ? seconds : 0.9 * next_.secondsPerStep + 0.1 * seconds;
        return isMeasured || point.step % recipe.checkpointEvery == 0;
    }

    /// Takes what views show. The run continues without it, such as where only its steps fit into the memory.
    void show(bool answers, bool weights) {
        if (answers)
            answersProblem_ = attempt(
                "training", [this] { takeAnswers(); }, kSmaller);
        if (weights)
            weightsProblem_ = attempt(
                "training", [this] { takeWeights(); }, kSmaller);
        next_.warning = run_->problem();
        for (const auto& problem : {answersProblem_, weightsProblem_})
            if (!next_.warning) next_.warning = problem;
    }

    /// Whether steps were made since the parameters were taken. The same ones again would look like a new run.
    bool hasNewWeights() const { return run_ && next_.weightsStep != run_->trainer().stepsDone(); }

    void takeWeights() {
        next_.weights = run_->weights();
        next_.weightsStep = run_->trainer().stepsDone();
    }

    void takeAnswers() {
        next_.answers = answersNow(run_->trainer());
        next_.allAnswers = std::make_shared<const AnswersBySteps>(withAnswers(*next_.allAnswers, next_.answers));
    }

    void publish() {
        published_ = Clock::now();
        snapshots_.publish(next_);
        if (!listed_) return;
        if (next_.state == State::Paused && run_ && run_->job().state() == JobState::Running)
            run_->job().setState(JobState::Paused);
        listed_->setState(run_ ? run_->job().state() : JobState::Running);
        if (run_) listed_->report(run_->progress());
    }

    // Only for the training thread.
    DeviceChoice choice_;
    std::shared_ptr<Device> prepared_;
    std::unique_ptr<TrainingRun> run_;
    TrainingSnapshot next_;
    std::optional<Failure> answersProblem_, weightsProblem_; ///< why views have none of this step
    int timedSteps_ = 0;
    Clock::time_point due_{}, published_{};

    // Shared between threads.
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    Wanted wanted_;
    bool isIdle_ = false;
    std::vector<MetricPoint> points_;
    Publisher<TrainingSnapshot> snapshots_;
    std::unique_ptr<ListedJob> listed_; ///< of the run, or of the one that is being opened; before its requests go
    std::jthread thread_;               // last: joins before other members are destroyed
};

TrainingSession::TrainingSession(DeviceChoice choice) : worker_(std::make_unique<Worker>(std::move(choice))) {}
TrainingSession::~TrainingSession() = default;

void TrainingSession::start(const std::filesystem::path& folder, const Recipe& recipe, bool plays) {
    worker_->want([&](Worker::Wanted& wanted) {
        wanted.start = Worker::Start{folder, recipe};
        wanted.plays = plays;
        wanted.steps = 0;
        wanted.rate.reset();
        wanted.closes = wanted.weights = false;
    });
}

void TrainingSession::play() {
    worker_->want([](Worker::Wanted& wanted) { wanted.plays = true; });
}

void TrainingSession::pause() {
    worker_->want([](Worker::Wanted& wanted) {
        wanted.plays = false;
        wanted.steps = 0;
    });
}

void TrainingSession::step() {
    worker_->want([](Worker::Wanted& wanted) {
        wanted.plays = false;
        ++wanted.steps;
    });
}

void TrainingSession::close() {
    worker_->want([](Worker::Wanted& wanted) { wanted = {.closes = true, .stepsPerSecond = wanted.stepsPerSecond}; });
}

void TrainingSession::prepare(const Recipe& recipe, bool isFirstUse) {
    worker_->want([&](Worker::Wanted& wanted) { wanted.prepares = Worker::Preparation{recipe, isFirstUse}; });
}

void TrainingSession::setLearningRate(std::optional<double> rate) {
    worker_->want([&](Worker::Wanted& wanted) { wanted.rate = rate; });
}

void TrainingSession::setPace(double stepsPerSecond) {
    worker_->want([&](Worker::Wanted& wanted) { wanted.stepsPerSecond = stepsPerSecond; });
}

void TrainingSession::requestWeights() {
    worker_->want([](Worker::Wanted& wanted) { wanted.weights = true; });
}

std::shared_ptr<const TrainingSnapshot> TrainingSession::latest() const { return worker_->snapshots().latest(); }
std::vector<MetricPoint> TrainingSession::takePoints() { return worker_->takePoints(); }
void TrainingSession::setListener(std::function<void()> listener) {
    worker_->snapshots().setListener(std::move(listener));
}
bool TrainingSession::waitIdle(double timeoutSeconds) { return worker_->waitIdle(timeoutSeconds); }

} // namespace attn
