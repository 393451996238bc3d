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

/// A button whose text takes as many lines as it needs.
class ChoiceButton : public QPushButton {
    Q_OBJECT

public:
    ChoiceButton(const QString& key, const QString& text, QWidget* parent = nullptr);

    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

private:
    QLabel* label_;
};

/// One step of a lesson: its text, the prediction, what to do, what came of it, and the ways on.
class LessonStepView : public QWidget {
    Q_OBJECT

public:
    explicit LessonStepView(QWidget* parent = nullptr);

    void setPlayer(LessonPlayer& player) { player_ = &player; }
    void refresh();
    /// The next step is shown anew, whichever it is.
    void forget() { shown_.clear(); }

private:
    void makeQuestion(QVBoxLayout* column);
    void showStep();
    void answer();

    LessonPlayer* player_ = nullptr;
    QString shown_; ///< lesson and step whose choices stand there
    QLabel *place_, *title_, *text_, *question_, *reply_, *task_, *outcome_;
    QFrame *questionCard_, *taskCard_, *outcomeCard_;
    AverageExercise* average_;
    QWidget* choices_;
    QWidget* numberRow_;
    QDoubleSpinBox* number_;
    QPushButton *answer_, *show_, *back_, *next_, *leave_;
};

} // namespace attn
