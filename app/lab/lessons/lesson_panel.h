#pragma once

#include "app/lab/lessons/lesson.h"
#include "app/lab/workbench/panel.h"

class QListWidget;
class QPushButton;
class QLabel;

namespace attn {

class LessonPlayer;
class LessonStepView;

/// The list of lessons with the progress in each, and the current step of the active lesson.
class LessonPanel : public Panel {
    Q_OBJECT

public:
    LessonPanel(Workbench& bench, QWidget* parent);

    /// @param userFolder folder of the user's own lessons
    void setPlayer(LessonPlayer& player, const QWidget& window, const QString& userFolder);
    const std::vector<Lesson>& lessons() const { return library_.lessons; }
    /// @param step negative: continue where the lesson was left
    void start(const Lesson& lesson, int step = -1);
    std::vector<Place> places() override;
    /// Gives the list the keyboard focus.
    void focusList();

signals:
    /// The chosen file contains no valid lesson.
    void failed(const attn::Failure& failure);

protected:
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    QWidget* makeList();
    void fillList();
    void showChosen();
    void chooseFile();
    void showPlayer();
    const Lesson* chosen() const;

    LessonPlayer* player_ = nullptr;
    const QWidget* window_ = nullptr;
    LessonLibrary library_;
    QWidget* page_; ///< of the list
    QListWidget* list_;
    QLabel *summary_, *problems_;
    QPushButton *start_, *again_;
    LessonStepView* steps_;
};

} // namespace attn
