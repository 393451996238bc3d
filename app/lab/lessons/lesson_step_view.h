#pragma once

#include <QFrame>
#include <QPushButton>

class QDoubleSpinBox;
class QFrame;
class QLabel;
class QVBoxLayout;

namespace attn {

class AverageExercise;
class LessonPlayer;

/// A button whose text wraps over several lines.
class ChoiceButton : public QPushButton {
    Q_OBJECT

public:
    ChoiceButton(const QString& key, const QString& text, QWidget* parent = nullptr);

    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    enum class Mark { None, Right, Wrong };
    void mark(Mark mark); ///< marks it after the answer

private:
    void showRole();

    QLabel* label_;
    QString key_, text_; ///< texts with the tags of lessons
};

/// Shows one step of a lesson: its text, prediction, task and outcome, and the buttons between steps.
class LessonStepView : public QWidget {
    Q_OBJECT

public:
    explicit LessonStepView(QWidget* parent = nullptr);

    void setPlayer(LessonPlayer& player) { player_ = &player; }
    /// Shows the present state of the step. A new step takes the keyboard focus.
    void refresh();
    /// Makes the next refresh() rebuild the step, even if it has not changed.
    void forget() { shown_.clear(); }

private:
    void makeQuestion(QVBoxLayout* column);
    bool showStep();
    void scrollTo(QWidget* part);
    void answer();

    LessonPlayer* player_ = nullptr;
    QString shown_; ///< the lesson and step whose choices are shown
    bool showsTask_ = false, showsOutcome_ = false;
    QLabel *place_, *title_, *text_, *question_, *reply_, *task_, *outcome_;
    QFrame *questionCard_, *taskCard_, *outcomeCard_;
    AverageExercise* average_;
    QWidget* choices_;
    QWidget* numberRow_;
    QDoubleSpinBox* number_;
    QPushButton *answer_, *show_, *back_, *next_, *leave_;
};

} // namespace attn
