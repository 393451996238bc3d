#include "app/lab/lessons/lesson_player.h"

#include "app/lab/lessons/lesson_calls.h"
#include "app/lab/lessons/lesson_pointer.h"
#include "app/lab/shell/main_window.h"

#include <QTabWidget>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr int kLookMs = 80;

int playgroundTab(const MainWindow& window) {
    const auto* views = window.findChild<QTabWidget*>("playViews");
    return views ? views->currentIndex() : 0;
}

} // namespace

LessonPlayer::LessonPlayer(MainWindow& window)
    : QObject(&window), window_(window), pointer_(std::make_unique<LessonPointer>(&window)) {
    looks_.setInterval(kLookMs);
    connect(&looks_, &QTimer::timeout, this, &LessonPlayer::look);
    connect(&window, &MainWindow::snapshotShown, this, &LessonPlayer::work);
    connect(&window.bridge(), &SessionBridge::failed, this, [this] {
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
    return findControl(window_, currentStep().pointAt);
}

void LessonPlayer::start(const Lesson& lesson, int step) {
    if (isGivingBack_) { // the earlier session is not restored yet
        next_ = std::pair(lesson, step);
        return;
    }
    if (lesson_) leaveStep();
    if (!before_) { // otherwise this lesson follows another one
        before_ = window_.document();
        recipeBefore_ = window_.recipe();
        runBefore_ = window_.runs().active();
        tabBefore_ = playgroundTab(window_);
    }
    lesson_ = lesson;
    progress_.assign(lesson.steps.size(), {});
    arrangedFor_.clear();
    step_ = std::clamp(step, 0, static_cast<int>(lesson.steps.size()) - 1);
    window_.bridge().post(StopCommand{});
    window_.training().session().pause(); // otherwise its weights would replace the lesson's model
    looks_.start();
    enter();
}

void LessonPlayer::enter() {
    if (arrangedFor_ != currentStep().panels || arrangedFor_.isEmpty()) window_.arrangeFor(currentStep().panels);
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
    window_.setLessonLocks(locks);
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
        if (QWidget* control = findControl(window_, name)) control->setVisible(isShown);
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
    const auto& snapshot = window_.snapshot();
    if (isOpening_ && snapshot && snapshot->model != opensFrom_ && snapshot->sequence) isOpening_ = false;
    while (!isOpening_ && !waiting_.empty()) {
        const LessonCall action = waiting_.front();
        waiting_.pop_front();
        if (const QString path = modelOf(action); !path.isEmpty()) {
            opensFrom_ = snapshot ? snapshot->model : nullptr;
            isOpening_ = !opensFrom_ || QString::fromStdString(snapshot->path()) != path;
        }
        attn::run(window_, action);
    }
    if (isGivingBack_ && !isOpening_ && waiting_.empty()) giveBack();
}

void LessonPlayer::giveBack() {
    if (!hasRestored_) {
        hasRestored_ = true;
        window_.training().session().pause();
        window_.setLessonLocks({});
        if (recipeBefore_) window_.setRecipe(*recipeBefore_);
        window_.runs().setActive(runBefore_);
        if (auto* views = window_.findChild<QTabWidget*>("playViews")) views->setCurrentIndex(tabBefore_);
        if (!before_->modelPath.isEmpty()) window_.restore(*before_); // otherwise nothing was open
        window_.showPanel("lessons");
    }
    if (window_.isRestoring()) return;
    isGivingBack_ = hasRestored_ = false;
    before_.reset();
    if (const auto next = std::exchange(next_, std::nullopt)) start(next->first, next->second);
}

void LessonPlayer::look() {
    if (!lesson_) return;
    pointer_->pointAt(target());
    if (progress().isDone || !isAnswered() || isOpening_ || !waiting_.empty()) return;
    const bool isDone =
        std::ranges::all_of(currentStep().doneWhen, [this](const LessonCall& each) { return holds(window_, each); });
    if (!isDone) return;
    progress_[static_cast<size_t>(step_)].isDone = true;
    emit changed();
}

} // namespace attn
