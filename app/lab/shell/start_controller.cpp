#include "app/lab/shell/start_controller.h"

#include "app/lab/panels/attention_panel.h"
#include "app/lab/panels/generate_panel.h"
#include "app/lab/shell/dock_layout.h"
#include "app/lab/shell/file_controller.h"
#include "app/lab/shell/lesson_controller.h"
#include "app/lab/shell/lock_controller.h"
#include "app/lab/shell/notices.h"
#include "app/lab/shell/panel_docks.h"
#include "app/lab/shell/session_controller.h"

#include <QSettings>
#include <QUndoStack>

#include <utility>

namespace attn {

StartController::StartController(const WindowParts& parts, SessionController& session, FileController& files,
                                 LessonController& lessons)
    : parts_(parts), session_(session), lessons_(lessons), page_(parts.panels.the<StartPanel>()) {
    connect(&page_, &StartPanel::tourChosen, this, &StartController::take);
    connect(&page_, &StartPanel::lessonContinued, &lessons, &LessonController::continueUnfinished);
    connect(&page_, &StartPanel::openAsked, &files, &FileController::chooseModelFolder);
    connect(&page_, &StartPanel::lessonsAsked, &lessons, &LessonController::showList);
    connect(&files, &FileController::recentChanged, this, &StartController::offer);
    connect(&parts.locks, &LockController::applied, this, &StartController::offer);
    offer();
}

void StartController::offer() {
    page_.setOffers(
        {.lesson = lessons_.unfinishedTitle(), .recent = recentPaths(), .mayOpen = parts_.locks.mayOpenFiles()});
}

void StartController::greet() {
    const QString key = QStringLiteral("greeted");
    if (QSettings().value(key).toBool()) return;
    QSettings().setValue(key, true);
    const QString greeting =
        tr("Each tile is one attention head. Bright means more attention. Click one. New here? A lesson "
           "takes five minutes.");
    parts_.notices.offer(greeting, {{tr("Learn"), tr("Show the lessons and all other ways to start"),
                                     [this] { parts_.layout.enter(workspaceNamed("learn")); }}});
    const auto dismiss = [this, greeting] { parts_.notices.message().withdraw(greeting); };
    connect(&parts_.layout, &DockLayout::entered, &parts_.notices.message(), dismiss); // who continues has read it
}

void StartController::enter(const char* workspace, const char* level) {
    parts_.layout.enter(workspaceNamed(workspace));
    QJsonObject look = parts_.panels.view("attention"); // as the user left it
    for (const auto& [field, value] : {std::pair("level", level), {"drawnAs", "heatmap"}, {"aggregate", "none"}})
        look[QLatin1String(field)] = value;
    parts_.panels.setView("attention", look);
}

void StartController::tell(const QString& text, int before) {
    parts_.notices.offerOfStep(text, parts_.bench.undoStack(), before);
    told_ = std::make_unique<QObject>();
    auto& attention = parts_.panels.the<AttentionPanel>();
    const auto look = [this, text, &attention, &workspace = parts_.layout.workspace(),
                       level = attention.wantedLevel()] {
        if (session_.isRestoring() || session_.changesViews()) return; // a step of Undo, which brings its text
        if (&parts_.layout.workspace() != &workspace || attention.wantedLevel() != level)
            parts_.notices.message().withdraw(text);
    };
    connect(&parts_.layout, &DockLayout::entered, told_.get(), look);
    connect(&attention, &AttentionPanel::lookChanged, told_.get(), look);
}

void StartController::take(StartPanel::Tour tour) {
    const QUndoStack& steps = parts_.bench.undoStack();
    const auto say = [this, before = steps.index()](const QString& text) { tell(text, before); };
    switch (tour) {
    case StartPanel::Tour::Write:
        session_.openFresh(); // first, for Undo; the text that is open may fill the context
        enter("write", "all");
        parts_.panels.the<GeneratePanel>().write();
        say(tr("The model writes one word after another. Each tile is one attention head: its lowest row is the newest "
               "word, and bright cells are the words that it looks at. Click a tile to see it large. Undo brings back "
               "the text that was open."));
        break;
    case StartPanel::Tour::Look:
        session_.openFresh("builtin:induction-trained", tr("looking at one head"), "inspect");
        enter("inspect", "head");
        parts_.bench.selectHead(1, 0);
        say(tr(
            "Rows are letters that look, columns are letters that are looked at. This head copies: each letter looks "
            "at what followed the same letter before. Click a bright cell to see its arithmetic."));
        break;
    case StartPanel::Tour::Train:
        enter("train", "all");
        parts_.bench.post(StopCommand{});
        lessons_.continueTraining(); // also if a text is still being written
        say(tr("A new model learns to sort digits, and its heads form. At first they look everywhere; soon each row "
               "looks at the digit that it must write next. Afterwards, drag the timeline to replay the run."));
        break;
    }
}

} // namespace attn
