#include "engine/session/worker.h"

#include "engine/core/attempt.h"
#include "engine/core/error.h"
#include "engine/gpu/device_errors.h"
#include "engine/inference/finite_count.h"
#include "engine/inference/wrong_model.h"
#include "engine/jobs/thread_priority.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <utility>

#ifdef __linux__
#include <unistd.h>
#endif

namespace attn {
namespace {

int64_t residentBytes() {
#ifdef __linux__
    std::ifstream file("/proc/self/statm");
    int64_t total = 0, resident = 0;
    if (file >> total >> resident) return resident * sysconf(_SC_PAGESIZE);
#endif
    return 0;
}

constexpr std::chrono::milliseconds kWarmUpDelay{200};
constexpr std::chrono::milliseconds kRefinedInterval{100}; ///< between two refined pictures

/// "head kinds" for "head_kinds".
std::string inWords(std::string key) {
    std::ranges::replace(key, '_', ' ');
    return key;
}

} // namespace

Session::Worker::Worker(DeviceChoice choice)
    : choice_(std::move(choice)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

Session::Worker::~Worker() {
    ++stops_;
    thread_.request_stop();
    changed_.notify_all();
}

void Session::Worker::post(Command command) {
    {
        const std::lock_guard lock(mutex_);
        if (std::holds_alternative<StopCommand>(command)) {
            queue_.dropGeneration();
            ++stops_;
        }
        if (changesInput(command)) hasOtherRun_ = true;
        queue_.push(std::move(command));
    }
    changed_.notify_all();
}

bool Session::Worker::waitIdle(double timeoutSeconds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(timeoutSeconds),
                             [&] { return queue_.empty() && !isBusy_; });
}

void Session::Worker::run(const std::stop_token& stop) {
    lowerThreadPriority();
    while (!stop.stop_requested()) {
        std::optional<Command> command;
        {
            std::unique_lock lock(mutex_);
            const auto ready = [&] { return !queue_.empty(); };
            if (isRefining_ || searchSteps_ > 0) {
                // Do not wait: refine views until the next token is due, or search, until a command arrives.
            } else if (remaining_ > 0) {
                changed_.wait_until(lock, stop, nextToken_, ready);
            } else {
                if (queue_.empty()) {
                    isBusy_ = false;
                    changed_.notify_all();
                }
                // Idle for a while: prepare plans for a later prompt.
                while (canWarmUp_ && !changed_.wait_for(lock, stop, kWarmUpDelay, ready) && !stop.stop_requested()) {
                    lock.unlock();
                    warmUp();
                    lock.lock();
                }
                changed_.wait(lock, stop, ready);
            }
            command = queue_.pop();
            isForEarlier_ = command && queue_.wasEarlier();
            if (command) isBusy_ = true;
            hasOtherRun_ = queue_.changesInput();
            if (command && std::holds_alternative<StopCommand>(*command)) --stops_;
        }
        if (!command && stop.stop_requested()) break;
        if (auto failure = attempt(
                {}, [&] { work(std::move(command)); }, "close other programs or open a smaller model"))
            fail(std::move(*failure));
    }
}

void Session::Worker::work(std::optional<Command> command) {
    try {
        if (command)
            execute(std::move(*command));
        else if (remaining_ > 0 && (!isRefining_ || Clock::now() >= nextToken_))
            generateOne();
        else if (searchSteps_ > 0)
            searchOne();
        else if (isRefining_)
            refineViews();
    } catch (const Cancelled&) {
        if (!analysing_.empty())
            next_.failedAnalyses[analysing_] = {
                .what = "stopped before it was done", .where = {}, .hint = "run it again"};
        publishIdle();
    } catch (const gpu::DeviceLost&) {
        if (next_.model && (next_.picture || !path_.tokens().empty()))
            lostInput_ = LostInput{next_.modelPath, path_, prompt_, next_.picture};
        forgetSearch();
        model_.reset();
        next_.model.reset();
        throw;
    } catch (const WrongModel&) {
        if (!isForEarlier_) throw;
        publishIdle(); // nobody waits for it any more
    }
}

void Session::Worker::warmUp() {
    canWarmUp_ = false; // nor after a failure: the next prompt reports it
    try {
        canWarmUp_ = hasTokens() && text().warmUp();
    } catch (const Error&) {
    }
}

void Session::Worker::execute(Command command) {
    if (remaining_ > 0 && changesSequence(command)) {
        if (std::holds_alternative<StopCommand>(command)) sayEnd(TextEnd::Stopped, static_cast<size_t>(generated_));
        finishGenerating();
    }
    if (searchSteps_ > 0 && changesSequence(command)) {
        searchSteps_ = 0;
        next_.status.activity = Activity::Idle;
    }
    next_.failure.reset();
    analysing_.clear();
    isRun_ = changesSequence(command) || std::holds_alternative<ShowWeightsCommand>(command);
    if (isRun_) next_.runFailure.reset();
    const uint64_t version = next_.sequenceVersion;
    std::visit([this](const auto& each) { on(each); }, command);
    if (next_.sequenceVersion != version) checkAnswer();
}

/// Says that the run has no answer, beside what the run shows: patterns and hooks tell where it went wrong.
void Session::Worker::checkAnswer() {
    if (!model_) return;
    auto failure = attempt({}, [this] {
        const ModelInfo& info = model().info();
        if (next_.answer) requireLogits(next_.answer->logits, info.name, info.activation);
        if (next_.classes)
            requireLogits(next_.classes->logits, info.name, next_.classes->activation);
        else if (next_.next)
            requireLogits(next_.next->logits, info.name);
    });
    if (!failure) return;
    next_.failure = std::move(failure);
    ++next_.failureCount;
    publish();
}

void Session::Worker::fail(Failure failure) {
    remaining_ = searchSteps_ = 0;
    next_.failure = std::move(failure);
    ++next_.failureCount;
    if (isRun_) next_.runFailure = next_.failure;
    if (!analysing_.empty()) { // an earlier result would be taken for the answer
        next_.failedAnalyses[analysing_] = *next_.failure;
        next_.analyses.erase(analysing_);
        next_.originalAnalyses.erase(analysing_);
    }
    publishIdle();
}

void Session::Worker::publishIdle() {
    isRefining_ = false; // the tokens of the picture may have changed
    next_.readsUnread = false;
    next_.status.activity =
        remaining_ > 0 ? Activity::Generating : Activity::Idle; // after an analysis, writing continues
    const bool isPrepared = std::exchange(next_.status.preparesEngine, false);
    next_.status.detail.clear();
    publish();
    if (isPrepared && model_) model_->device().saveKernels();
}

RunningModel& Session::Worker::model() const {
    if (!model_) throw Error({.what = "no model is open", .where = {}, .hint = "open a model folder first"});
    return *model_;
}

LanguageModel& Session::Worker::text() const { return languageModel(model()); }
VisionModel& Session::Worker::vision() const { return visionModel(model()); }
bool Session::Worker::hasTokens() const { return model_ && !path_.tokens().empty(); }

void Session::Worker::refreshViews() {
    next_.grid = view_.thumbnailSize > 0
                     ? std::make_shared<PatternGrid>(text().patterns().beginGrid(view_.thumbnailSize, view_.hidesFirst))
                     : nullptr;
    refreshDetail();
    refreshProfile();
}

void Session::Worker::refreshDetail() {
    next_.detail = view_.detail ? std::make_shared<PatternTile>(text().patterns().beginTile(view_)) : nullptr;
    isRefining_ = true;
}

void Session::Worker::refreshProfile() {
    if (profiled_.site < 0) {
        next_.profile.reset();
        return;
    }
    auto profile = std::make_shared<HeadProfile>(text().patterns().beginProfile(profiled_.site, profiled_.head));
    // Keep showing the previous profile until the first band has been counted.
    if (!next_.profile || profile->exactRows == 1) next_.profile = std::move(profile);
    isRefining_ = true;
}

void Session::Worker::refineViews() {
    isRefining_ = hasTokens() && text().patterns().refine(kRefiningMs);
    if (!hasTokens() || (isRefining_ && Clock::now() - lastVisual_ < kRefinedInterval)) return;
    auto detail = text().patterns().refinedTile();
    auto grid = text().patterns().refinedGrid();
    auto profile = text().patterns().refinedProfile();
    if (!detail && !grid && !profile) return;
    if (detail && next_.detail) next_.detail = std::make_shared<PatternTile>(std::move(*detail));
    if (grid && next_.grid) next_.grid = std::make_shared<PatternGrid>(std::move(*grid));
    if (profile && next_.profile) next_.profile = std::make_shared<HeadProfile>(std::move(*profile));
    lastVisual_ = Clock::now();
    publish();
}

void Session::Worker::publish() {
    next_.status.deviceBytes = model_ ? model_->deviceBytes() : 0;
    next_.status.residentBytes = residentBytes();
    const auto before = snapshots_.latest();
    if (before->model && next_.model && before->model->inputAxis() != next_.model->inputAxis()) {
        const std::lock_guard lock(mutex_);
        queue_.markEarlier();
    }
    snapshots_.publish(next_);
    listWork();
}

void Session::Worker::listWork() {
    const Status& status = next_.status;
    if (std::exchange(listedActivity_, status.activity) != status.activity) listed_.reset();
    const bool isLong = status.activity == Activity::Loading || status.activity == Activity::Exporting ||
                        status.activity == Activity::Analysing;
    if (!isLong) return;
    if (!listed_) {
        timeLeft_ = {};
        const bool isAnalysis = status.activity == Activity::Analysing;
        listed_ = std::make_unique<ListedJob>(JobList::shared(),
                                              JobStatus{.kind = isAnalysis ? "analysis" : "model",
                                                        .title = isAnalysis ? "Analyse: " + inWords(analysing_)
                                                                 : status.activity == Activity::Loading
                                                                     ? "Open a model"
                                                                     : "Write hooks to a file",
                                                        .state = JobState::Running},
                                              [this](JobRequest request) {
                                                  if (request == JobRequest::Stop) post(StopCommand{});
                                              });
    }
    const double seconds = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
    listed_->report({.fraction = status.progress,
                     .sentence = status.detail,
                     .secondsLeft = timeLeft_.after(status.progress, seconds)});
}

} // namespace attn
