#include "app/lab/lessons/lesson_player.h"

#include "app/lab/bridge/training_bridge.h"
#include "app/lab/lessons/lesson_calls.h"
#include "app/lab/lessons/lesson_pointer.h"
#include "app/lab/lessons/lesson_stage.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/workbench/workbench.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {
namespace {

constexpr int kLookMs = 80;

} // namespace

LessonPlayer::LessonPlayer(LessonStage& stage)
    : stage_(stage), bench_(stage.workbench()), pointer_(std::make_unique<LessonPointer>(&stage.controls())) {
    looks_.setInterval(kLookMs);
    connect(&looks_, &QTimer::timeout, this, &LessonPlayer::look);
    connect(&bench_, &Workbench::snapshotShown, this, &LessonPlayer::work);
    connect(&bench_, &Workbench::commandFailed, this, [this] {
        isOpening_ = false; // the banner shows the reason
        work();
    });
}

LessonPlayer::~LessonPlayer() = default;

bool LessonPlayer::isAnswered() const { return !currentStep().prediction || progress().choice || progress().number; }

QString LessonPlayer::reply() const {
    const auto& prediction = currentStep().prediction;
    if (!prediction) return {};
    if (progress().choice) return prediction->choices[static_cast<size_t>(*progress().choice)].reply;
    if (progress().number) return progress().isRight ? prediction->number->right : prediction->number->wrong;
    return {};
}

QWidget* LessonPlayer::target() const {
    if (!lesson_ || !isAnswered() || currentStep().pointAt.isEmpty()) return nullptr;
    return findControl(stage_.controls(), currentStep().pointAt);
}

void LessonPlayer::start(const Lesson& lesson, int step) {
    if (isGivingBack_) { // the earlier session is not restored yet
        next_ = std::pair(lesson, step);
        return;
    }
    if (lesson_) leaveStep();
    if (!before_) { // otherwise this lesson follows another one
        before_ = stage_.document();
        recipeBefore_ = stage_.recipe();
        runBefore_ = bench_.runs().active();
        wasTraining_ = stage_.isTraining();
        stage_.setLessonUndo(true);
    }
    lesson_ = lesson;
    progress_.assign(lesson.steps.size(), {});
    arrangedFor_.clear();
    step_ = std::clamp(step, 0, static_cast<int>(lesson.steps.size()) - 1);
    bench_.post(StopCommand{});
    bench_.training().session().pause(); // otherwise its weights could replace the lesson's model
    bench_.setSampling({});              // lessons assume the default sampling
    looks_.start();
    enter();
}

void LessonPlayer::enter() {
    if (arrangedFor_ != currentStep().panels || arrangedFor_.isEmpty()) stage_.arrangeFor(currentStep().panels);
    arrangedFor_ = currentStep().panels;
    showHidden(false);
    run(currentStep().enter);
    if (isAnswered()) reveal();
    lock();
    emit changed();
}

void LessonPlayer::reveal() {
    run(currentStep().reveal);
    if (currentStep().doneWhen.empty()) progress_[static_cast<size_t>(step_)].isDone = true;
}

void LessonPlayer::lock() {
    ControlLocks locks;
    for (const ControlGroup& group : controlGroups()) {
        const QString id = QString::fromLatin1(group.id);
        if (isAnswered() && currentStep().allow.contains(id)) continue;
        const bool wasHidden = before_->locks.value(id) == ControlState::Hidden;
        locks[id] = wasHidden ? ControlState::Hidden : ControlState::Locked;
    }
    stage_.setLessonLocks(locks);
}

void LessonPlayer::answer(int choice) {
    if (!lesson_ || isAnswered()) return;
    const auto& choices = currentStep().prediction->choices;
    if (choice < 0 || choice >= static_cast<int>(choices.size())) return;
    Progress& progress = progress_[static_cast<size_t>(step_)];
    progress.choice = choice;
    progress.isRight = choices[static_cast<size_t>(choice)].isRight;
    reveal();
    lock();
    emit changed();
}

void LessonPlayer::answerNumber(double number) {
    if (!lesson_ || isAnswered() || !currentStep().prediction->number) return;
    const LessonNumber& asked = *currentStep().prediction->number;
    Progress& progress = progress_[static_cast<size_t>(step_)];
    progress.number = number;
    progress.isRight = std::abs(number - asked.answer) <= asked.tolerance;
    reveal();
    lock();
    emit changed();
}

void LessonPlayer::back() {
    if (!lesson_ || step_ == 0) return;
    leaveStep();
    --step_;
    enter();
}

void LessonPlayer::next() {
    if (!lesson_ || !progress().isDone) return;
    if (step_ + 1 == static_cast<int>(lesson_->steps.size())) return end(true);
    leaveStep();
    ++step_;
    enter();
}

void LessonPlayer::leave() {
    if (lesson_) end(false);
}

void LessonPlayer::leaveStep() {
    waiting_.clear();
    showHidden(true);
    run(currentStep().leave);
}

void LessonPlayer::showHidden(bool isShown) {
    for (const QString& name : currentStep().hide)
        if (QWidget* control = findControl(stage_.controls(), name)) control->setVisible(isShown);
}

void LessonPlayer::end(bool isFinished) {
    leaveStep();
    looks_.stop();
    pointer_->pointAt(nullptr);
    const QString id = lesson_->id;
    lesson_.reset();
    isGivingBack_ = true;
    work();
    emit ended(id, isFinished);
    emit changed();
}

void LessonPlayer::run(const std::vector<LessonCall>& actions) {
    waiting_.insert(waiting_.end(), actions.begin(), actions.end());
    work();
}

void LessonPlayer::work() {
    const auto& snapshot = bench_.snapshot();
    if (isOpening_ && snapshot && snapshot->model != opensFrom_ && snapshot->sequence) isOpening_ = false;
    while (!isOpening_ && !waiting_.empty()) {
        const LessonCall action = waiting_.front();
        waiting_.pop_front();
        if (const QString path = modelOf(action); !path.isEmpty()) {
            opensFrom_ = snapshot ? snapshot->model : nullptr;
            isOpening_ = !opensFrom_ || QString::fromStdString(snapshot->path()) != path;
        }
        attn::run(stage_, action);
    }
    if (isGivingBack_ && !isOpening_ && waiting_.empty()) giveBack();
}

void LessonPlayer::giveBack() {
    if (!hasRestored_) {
        hasRestored_ = true;
        bench_.training().session().pause();
        stage_.setLessonLocks({});
        if (recipeBefore_) bench_.requestRecipe(*recipeBefore_);
        bench_.runs().setActive(runBefore_);
        if (!before_->modelPath.isEmpty()) stage_.restore(*before_); // otherwise no model was open
        bench_.showPanel("lessons");
    }
    if (stage_.isRestoring()) return;
    isGivingBack_ = hasRestored_ = false;
    before_.reset();
    stage_.setLessonUndo(false);
    if (std::exchange(wasTraining_, false) && !next_) stage_.continueTraining();
    if (const auto next = std::exchange(next_, std::nullopt)) start(next->first, next->second);
}

void LessonPlayer::look() {
    if (!lesson_) return;
    pointer_->pointAt(target());
    if (progress().isDone || !isAnswered() || isOpening_ || !waiting_.empty()) return;
    const bool isDone =
        std::ranges::all_of(currentStep().doneWhen, [this](const LessonCall& each) { return holds(stage_, each); });
    if (!isDone) return;
    progress_[static_cast<size_t>(step_)].isDone = true;
    emit changed();
}

} // namespace attn
