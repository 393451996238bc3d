#pragma once

#include "app/lab/lessons/lesson.h"
#include "app/lab/workbench/session_file.h"
#include "engine/training/recipe.h"

#include <QObject>
#include <QTimer>

#include <deque>
#include <memory>
#include <optional>

namespace attn {

class LessonPointer;
class LessonStage;
class Workbench;
struct ModelInfo;

/// Plays a lesson. For each step it runs the actions, locks unneeded controls, and waits for the prediction and then
/// for the task. At the end it restores the student's session.
class LessonPlayer : public QObject {
    Q_OBJECT

public:
    /// The student's progress in a step, kept while they move between steps.
    struct Progress {
        std::optional<int> choice;
        std::optional<double> number;
        bool isRight = false; ///< the prediction
        bool isDone = false;
    };

    explicit LessonPlayer(LessonStage& stage);
    ~LessonPlayer() override;

    /// @param step the first step to show
    void start(const Lesson& lesson, int step = 0);
    void answer(int choice);
    void answerNumber(double number);
    void back();
    /// Goes to the next step. After the last step, finishes the lesson.
    void next();
    /// Ends the lesson and restores the student's session.
    void leave();

    bool isPlaying() const { return lesson_.has_value(); }
    /// Whether all actions of the step have run.
    bool isReady() const { return !isOpening_ && waiting_.empty(); }
    const Lesson& lesson() const { return *lesson_; }
    int step() const { return step_; }
    const LessonStep& currentStep() const { return lesson_->steps[static_cast<size_t>(step_)]; }
    const Progress& progress() const { return progress_[static_cast<size_t>(step_)]; }
    bool isAnswered() const;
    /// The reply to the student's answer.
    QString reply() const;
    /// The student's session until it is restored.
    const std::optional<SessionDocument>& before() const { return before_; }
    /// The control that the step points at; null if it is not visible.
    QWidget* target() const;

signals:
    void changed();
    /// @param isFinished the last step was done
    void ended(const QString& lesson, bool isFinished);

private:
    void enter();
    void reveal();
    void lock();
    void leaveStep();
    void showHidden(bool isShown);
    void run(const std::vector<LessonCall>& actions);
    /// Runs waiting actions until one opens a model.
    void work();
    void look();
    void end(bool isFinished);
    void giveBack();

    LessonStage& stage_;
    Workbench& bench_;
    std::optional<Lesson> lesson_;
    int step_ = 0;
    std::vector<Progress> progress_;
    std::deque<LessonCall> waiting_;             ///< actions
    std::shared_ptr<const ModelInfo> opensFrom_; ///< the model before the one that is being opened
    bool isOpening_ = false;
    bool isGivingBack_ = false, hasRestored_ = false; ///< the session is being restored, and may wait for its model
    std::optional<std::pair<Lesson, int>> next_;      ///< starts after the session is restored
    std::optional<SessionDocument> before_;
    std::optional<Recipe> recipeBefore_;
    QString runBefore_;
    bool wasTraining_ = false; ///< training continues after the lesson
    QStringList arrangedFor_;
    QTimer looks_; ///< checks the conditions and the position of the control
    std::unique_ptr<LessonPointer> pointer_;
};

} // namespace attn
