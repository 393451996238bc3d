#pragma once

#include "app/lab/lessons/lesson.h"
#include "app/lab/session_file.h"
#include "engine/training/recipe.h"

#include <QObject>
#include <QTimer>

#include <deque>
#include <memory>
#include <optional>

namespace attn {

class LessonPointer;
class MainWindow;

/// Takes a student through a lesson: runs what its steps ask of the window, locks what they do not need, waits for the
/// prediction and then for what is to be done, and gives everything back in the end.
class LessonPlayer : public QObject {
    Q_OBJECT

public:
    /// What has happened in a step; kept while one goes back and on.
    struct Progress {
        std::optional<int> choice;
        std::optional<double> number;
        bool isRight = false; ///< the prediction
        bool isDone = false;
    };

    explicit LessonPlayer(MainWindow& window);
    ~LessonPlayer() override;

    /// @param step to begin with
    void start(const Lesson& lesson, int step = 0);
    void answer(int choice);
    void answerNumber(double number);
    void back();
    /// After the last step the lesson is finished.
    void next();
    /// Gives back what was there before the lesson.
    void leave();

    bool isPlaying() const { return lesson_.has_value(); }
    /// Everything that the step asked for has been asked of the window.
    bool isReady() const { return !isOpening_ && waiting_.empty(); }
    const Lesson& lesson() const { return *lesson_; }
    int step() const { return step_; }
    const LessonStep& currentStep() const { return lesson_->steps[static_cast<size_t>(step_)]; }
    const Progress& progress() const { return progress_[static_cast<size_t>(step_)]; }
    bool isAnswered() const;
    /// What the answer is met with.
    QString reply() const;
    /// What was open before the lesson, while it is not given back.
    const std::optional<SessionDocument>& before() const { return before_; }
    /// The control that the step points at, where it can be seen.
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
    /// Runs what waits, up to a model that is being opened.
    void work();
    void look();
    void end(bool isFinished);
    void giveBack();

    MainWindow& window_;
    std::optional<Lesson> lesson_;
    int step_ = 0;
    std::vector<Progress> progress_;
    std::deque<LessonCall> waiting_;             ///< actions
    std::shared_ptr<const ModelInfo> opensFrom_; ///< the model that another is about to replace
    bool isOpening_ = false;
    bool isGivingBack_ = false, hasRestored_ = false; ///< the session was asked back, and may wait for its model
    std::optional<std::pair<Lesson, int>> next_;      ///< to be begun once all is given back
    std::optional<SessionDocument> before_;
    std::optional<Recipe> recipeBefore_;
    QString runBefore_;
    int tabBefore_ = 0;
    QStringList arrangedFor_;
    QTimer looks_; ///< at the conditions and at where the control is
    std::unique_ptr<LessonPointer> pointer_;
};

} // namespace attn
