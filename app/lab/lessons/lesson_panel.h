#pragma once

#include "app/lab/lessons/lesson.h"
#include "app/lab/panels/panel_context.h"

class QListWidget;
class QPushButton;
class QLabel;

namespace attn {

class LessonPlayer;
class LessonStepView;

/// The list of lessons with what was done of them, and the step of the one that is being taken.
class LessonPanel : public Panel {
    Q_OBJECT

public:
    LessonPanel(PanelContext& context, QWidget* parent);

    void setSnapshot(const std::shared_ptr<const Snapshot>&) override {}

    /// @param userFolder of lessons of the user's own
    void setPlayer(LessonPlayer& player, const QWidget& window, const QString& userFolder);
    const std::vector<Lesson>& lessons() const { return library_.lessons; }
    /// @param step negative: where it was left
    void start(const Lesson& lesson, int step = -1);
    /// Puts the cursor into the list.
    void focusList();

signals:
    /// A file that was chosen is no lesson.
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
